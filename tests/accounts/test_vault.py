import pytest

from accounts import vault

OLD, NEW = "o" * 20 + "ld secret of 32 characters", "n" * 20 + "ew secret of 32 characters"


def test_what_was_stored_under_the_previous_secret_is_still_read(settings) -> None:
    settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS = OLD, ""
    stored, hashed = vault.encrypt("text"), vault.hashes("purpose", "text")[0]

    settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS = NEW, OLD

    assert vault.decrypt(stored) == "text"
    assert hashed in vault.hashes("purpose", "text")


def test_without_its_secret_it_says_what_to_set(settings) -> None:
    settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS = OLD, ""
    stored = vault.encrypt("text")

    settings.INSTANCE_SECRET = NEW

    with pytest.raises(vault.Unreadable, match="INSTANCE_SECRET_PREVIOUS"):
        vault.decrypt(stored)


def test_hashes_for_different_purposes_differ() -> None:
    assert vault.hashes("one", "text") != vault.hashes("another", "text")
