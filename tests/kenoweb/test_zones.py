from zoneinfo import available_timezones

from kenoweb.membership import forms


def test_the_list_has_places_by_region_and_no_aliases():
    regions = dict(forms.choices())
    assert ("America/Mexico_City", "Mexico City") in regions["America"]
    assert ("America/Argentina/Ushuaia", "Argentina, Ushuaia") in regions["America"]
    assert not {"Etc", "US", "Brazil", "posix", "SystemV"} & set(regions)
    assert forms.choices()[0] == ("UTC", "UTC")
    offered = {name for found in list(regions.values())[1:] for name, _city in found}
    assert {"Asia/Kolkata", "Europe/Kyiv", "Australia/Sydney"} <= offered <= available_timezones()
    old = {"Asia/Calcutta", "Europe/Kiev", "Australia/NSW", "America/Buenos_Aires", "Cuba"}
    assert not old & offered


def test_an_old_name_leads_to_the_place_it_is_called_now(tmp_path):
    assert forms.old_names()["America/Buenos_Aires"] == "America/Argentina/Buenos_Aires"
    assert set(forms.old_names().values()) <= forms.names()
    folder = tmp_path / "zoneinfo" / "Asia"
    folder.mkdir(parents=True)
    (tmp_path / "localtime").symlink_to(folder / "Calcutta")
    assert forms.guess(tmp_path / "localtime") == "Asia/Kolkata"


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
