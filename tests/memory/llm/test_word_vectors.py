"""Single words meet by meaning, in one language and across two."""

import numpy as np
import pytest

from memory.vectors.graphs import word_vectors


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("kids", "children", "mountain"),
        ("hermana", "sister", "perro"),
        ("car", "coche", "casa"),
        ("trabajo", "work", "fish"),
    ],
)
def test_what_means_the_same_is_near(word, near, far):
    a, b, c = word_vectors().of([word, near, far])
    assert a @ b > 0.6
    assert a @ b > a @ c + 0.3


@pytest.mark.parametrize("word", ["", "zzzzqqqx", "🙂", "x" * 500, "中文"])
def test_any_word_has_a_vector(word):
    (vector,) = word_vectors().of([word])
    assert np.isfinite(vector).all()


def test_no_words_no_vectors():
    assert word_vectors().of([]).shape == (0, 384)
