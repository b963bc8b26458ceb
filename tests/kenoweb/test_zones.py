from kenoweb.membership import forms


def test_the_list_has_places_by_region_and_no_aliases():
    regions = dict(forms.choices())
    assert ("America/Mexico_City", "Mexico City") in regions["America"]
    assert ("America/Argentina/Ushuaia", "Argentina, Ushuaia") in regions["America"]
    assert not {"Etc", "US", "Brazil"} & set(regions)
    assert forms.choices()[0] == ("UTC", "UTC")


def test_the_zone_of_the_computer_is_guessed(tmp_path):
    folder = tmp_path / "zoneinfo" / "Europe"
    folder.mkdir(parents=True)
    (folder / "Madrid").touch()
    (tmp_path / "localtime").symlink_to(folder / "Madrid")
    assert forms.guess(tmp_path / "localtime") == "Europe/Madrid"


def test_a_computer_that_says_nothing_is_in_utc(tmp_path):
    assert forms.guess(tmp_path / "missing") == "UTC"
    (tmp_path / "localtime").write_text("a copy, not a link")
    assert forms.guess(tmp_path / "localtime") == "UTC"
