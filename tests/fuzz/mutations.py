"""Bytes made from valid ones, as Hypothesis makes and shrinks them."""

from hypothesis import strategies as st

ODD = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\r",
    b"\n\n",
    b'"',
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[" * 200,
    b"9" * 40,
    b"18446744073709551616",
    b"../",
    b"$",
    b"<b>",
    b"\\ud800",
]
"""What readers trip over."""

edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(st.sampled_from(ODD), st.binary(max_size=12))),
    min_size=1,
    max_size=5,
)


@st.composite
def mutated(draw, seeds):
    """Bytes of a seed with a few places replaced, cut off or doubled; or any bytes at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(st.sampled_from(seeds))
    for place, length, put in draw(edits):
        at = int(place * len(data))
        data = data[:at] + put + data[at + length :]
    if draw(st.integers(0, 4)) == 0:
        data = data[: draw(st.integers(0, len(data)))]
    return data
