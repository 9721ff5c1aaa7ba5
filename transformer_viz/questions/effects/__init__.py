"""Effects: what taking a head away does to an answer.

`result` says what is found, without Keras; `heads` measures it.
"""
