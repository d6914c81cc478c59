"""Words of texts that may hold Chinese, as the package jieba cuts them.

jieba comes with the extra `zh`. It is loaded for texts that it cuts in another way than at the end
of words: those with Chinese characters, and with one of the few other words of its dictionary.
"""

from __future__ import annotations

import importlib.util
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jieba

_CHINESE = re.compile("[\u4e00-\u9fd5]|AT&T|[cC]#|[cC]\\+\\+")
_MISSING = "words of Chinese texts need jieba ({}); install it with: pip install jieba"
# Everything except words is cut at spaces, and into single characters.
_PIECES = re.compile(r"(?P<block>[a-zA-Z0-9+#&._%\-]+)|(?P<blank>\r\n|\s)|(?P<other>.)", re.DOTALL)
_BLOCK = re.compile(r"[a-zA-Z0-9]+(?:\.[0-9]+)?%?|(?:(?![a-zA-Z0-9]).)+")


class WordsError(RuntimeError):
    """jieba is missing or cannot be loaded."""


def words(text: str) -> list[str]:
    """Return the words of a text with everything between them: joined, they are the text.

    >>> words("Scroll 3.5% down.\\n")
    ['Scroll', ' ', '3.5%', ' ', 'down', '.', '\\n']

    Raises `WordsError` for a Chinese text if jieba is not installed.
    """
    if _CHINESE.search(text):
        return list(_tokenizer().cut(text))
    found: list[str] = []
    for piece in _PIECES.finditer(text):
        found += _BLOCK.findall(piece[0]) if piece["block"] else [piece[0]]
    return found


def check_installed() -> None:
    """Raises `WordsError` if jieba is not installed; loads nothing.

    Any reply may be Chinese: callers that score words check before the first one.
    """
    if importlib.util.find_spec("jieba") is None:
        raise WordsError(_MISSING.format("it is not installed"))


@lru_cache(maxsize=1)
def _tokenizer() -> jieba.Tokenizer:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import jieba

            tokenizer = jieba.Tokenizer()
            # What `initialize` does, without a cache in the shared folder for temporary files, from
            # which anybody's would be read, and without messages.
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
            tokenizer.initialized = True
    except (ImportError, OSError, ValueError) as error:
        raise WordsError(_MISSING.format(error)) from error
    return tokenizer
