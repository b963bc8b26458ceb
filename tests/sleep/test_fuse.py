from sleep.phase import Fuse


def test_a_quarter_of_a_large_tier_may_go():
    fuse = Fuse("facts", 400)
    assert fuse.allows(100)
    assert not fuse.allows(101)


def test_a_small_tier_may_lose_twenty():
    fuse = Fuse("patterns", 8)
    assert fuse.allows(20)
    assert not fuse.allows(21)
