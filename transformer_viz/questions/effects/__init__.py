"""Effects: what each word, each head and each attention weight does to an answer.

`answer` says what is asked about, `words` what can be left out, `result` what is found, all without Keras;
`measure` estimates cells and heads and measures words, `heads` measures heads, and `quality` compares both.
"""
