"""Words are those of jieba, which is loaded for Chinese texts only, without noise and traces."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parsers.autowebbench as chinese
from parsers.autowebbench import WordsError, words


@cache
def jieba() -> Any:
    import jieba as package

    package.setLogLevel("CRITICAL")
    return package


TEXTS = st.lists(
    st.sampled_from([*"ab C.3%5+#-_&?？。…”\r\n\t\u3000é日本の中国我们", "C++", "AT&T", "......"])
    | st.text(max_size=3),
    max_size=20,
).map("".join)


@given(TEXTS)
def test_words_are_those_of_jieba(text: str) -> None:
    assert words(text) == list(jieba().cut(text))
    assert "".join(words(text)) == text


def test_only_five_words_of_its_dictionary_are_not_chinese() -> None:
    tokenizer = jieba().Tokenizer()
    frequencies, _ = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    known = {word for word, count in frequencies.items() if count and len(word) > 1}
    assert {word for word in known if word.isascii()} == {"AT&T", "C++", "C#", "c++", "c#"}


def run(code: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        encoding="utf-8",
    )


def test_english_loads_nothing_and_chinese_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom parsers.autowebbench import words\nwords('New York')\n"
        "assert 'jieba' not in sys.modules\n"
        "assert words('请登录您的账户') == ['请', '登录', '您', '的', '账户']\n"
    )
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir()), "no cache file"


def test_without_jieba_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    chinese.check_installed()
    monkeypatch.setitem(sys.modules, "jieba", None)
    chinese._tokenizer.cache_clear()
    assert words("New York") == ["New", " ", "York"]
    with pytest.raises(WordsError, match="pip install jieba") as raised:
        words("登录")
    assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(WordsError, match=r"need jieba \(it is not installed\)"):
        chinese.check_installed()
    monkeypatch.undo()
    assert words("登录") == ["登录"]
