#!/bin/sh
# The browser tests drive a Chromium of the system; Debian's chromium-headless-shell opens pages faster than
# its chromium. Both are installed here if they may be; elsewhere the tests name what is missing.
command -v chromium-headless-shell >/dev/null && command -v chromium >/dev/null && exit 0
command -v apt-get >/dev/null || exit 0
[ "$(id -u)" = 0 ] || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq chromium fonts-noto-cjk >/dev/null && apt-get install -y -qq chromium-headless-shell >/dev/null
command -v chromium >/dev/null || command -v google-chrome >/dev/null
