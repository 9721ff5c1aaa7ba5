#!/bin/sh
# The browser tests drive a Chromium of the system. On Debian it is installed here if it may be; elsewhere
# the tests name what is missing.
command -v chromium >/dev/null || command -v google-chrome >/dev/null && exit 0
command -v apt-get >/dev/null || exit 0
[ "$(id -u)" = 0 ] || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq chromium fonts-noto-cjk >/dev/null
