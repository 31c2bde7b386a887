"""The directory knows users, their scopes and connections, and which user a name means."""

from uuid import UUID

import pytest
from pydantic import ValidationError

from tests.factories import make_tenant
from turnloom.models.connections.database import transaction
from turnloom.models.contracts.users import Profile
from turnloom.models.errors import Invalid, NotFound
from turnloom.models.ledger import users
from turnloom.models.ledger.users import DirectoryUser

pytestmark = pytest.mark.usefixtures("database")

KNOWN = {
    "cohen": ("David Cohen", "david.cohen@example.com"),
    "katz": ("David Katz", "katz@example.com"),
    "dan": ("Dan", None),
    "daniel": ("Daniel O'Neill", "dan@example.com"),
    "jose": ("José Ñuñez", "jose@example.com"),
    "strauss": ("Jörg Strauß", "JS@Example.com"),
    "dov": ("דָּוִד לוי", None),
    "twin1": ("Ann Lee", "ann1@example.com"),
    "twin2": ("Ann Lee", "ann2@example.com"),
}


@pytest.fixture
def tenant() -> UUID:
    """Make a tenant with one user, `noa`, who is connected with all of `KNOWN`."""
    tenant_id = make_tenant()
    with transaction() as db:
        users.put_user(db, tenant_id, "noa", Profile(name="Noa Levi"))
        for user_id, (name, email) in KNOWN.items():
            users.put_user(db, tenant_id, user_id, Profile(name=name, email=email))
            users.connect(db, tenant_id, "noa", user_id)
    return tenant_id


def meant(tenant_id: UUID, query: str, of: str = "noa") -> set[str]:
    with transaction() as db:
        return {contact.user.id for contact in users.contacts(db, tenant_id, of, query)}


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("David", {"cohen", "katz"}),
        ("david cohen", {"cohen"}),
        ("Cohen, David", {"cohen"}),
        ("katz", {"katz"}),
        ("dav", {"cohen", "katz"}),
        ("Dan", {"dan"}),
        ("dani", {"daniel"}),
        ("d", {"cohen", "katz", "dan", "daniel"}),
        ("JOSE nunez", {"jose"}),
        ("jorg strauss", {"strauss"}),
        ("דוד", {"dov"}),
        ("ann lee", {"twin1", "twin2"}),
        ("Ann Lee (ann2@example.com)", {"twin2"}),
        ("js@example.com", {"strauss"}),
        ("dan@example.com", {"daniel"}),
        ("david@example.com", set()),
        ("nobody", set()),
        ("Noa", set()),
        ("cohe%", set()),
        ("  ", set()),
        ("", set()),
    ],
)
def test_a_name_means_the_best_match(tenant: UUID, query: str, ids: set[str]) -> None:
    """A whole name comes before its words, and these before their beginnings. An address matches only its owner."""
    assert meant(tenant, query) == ids


def test_only_ones_own_connections_count(tenant: UUID) -> None:
    """People who are not connected are nobody's contacts. Another tenant's users are not found."""
    with transaction() as db:
        users.put_user(db, tenant, "far", Profile(name="David Far"))

    assert meant(tenant, "David", of="cohen") == set()
    assert meant(tenant, "Noa", of="cohen") == {"noa"}
    assert meant(make_tenant("other"), "David") == set()


def test_a_connection_is_the_same_from_both_sides(tenant: UUID) -> None:
    """It keeps its id when it is switched off and on, whichever of the two is named first."""
    with transaction() as db:
        off = users.connect(db, tenant, "cohen", "noa", "inactive")
    with transaction() as db:
        (contact,) = users.contacts(db, tenant, "noa", "cohen")
        on = users.connect(db, tenant, "noa", "cohen")

    assert (off.users, off.is_active, contact.is_active) == (("cohen", "noa"), False, False)
    assert (on.id, on.is_active) == (off.id, True) == (contact.connection_id, True)


def test_ids_are_ordered_by_their_bytes(tenant: UUID) -> None:
    """The database's collation does not matter: `Z` comes before `a`."""
    with transaction() as db:
        for user_id in ("a", "Z"):
            users.put_user(db, tenant, user_id, Profile(name=user_id))
        made = users.connect(db, tenant, "a", "Z")
        first, *_ = users.listed(db, tenant, "", 10)
        after = users.listed(db, tenant, "strauss", 10)

    assert made.users == ("Z", "a")
    assert first.id == "Z"
    assert [user.id for user in after] == ["twin1", "twin2"]


def test_connecting_needs_two_people_that_are_there(tenant: UUID) -> None:
    """Nobody is connected with themselves, or with somebody who is not a user of the tenant."""
    with transaction() as db, pytest.raises(Invalid):
        users.connect(db, tenant, "noa", "noa")
    with transaction() as db, pytest.raises(NotFound, match="ghost"):
        users.connect(db, tenant, "noa", "ghost")


def test_putting_a_user_again_replaces_the_profile(tenant: UUID) -> None:
    """Omitted fields get their default. Connections and the day of creation stay."""
    with transaction() as db:
        before = users.get_user(db, tenant, "cohen")
        users.put_user(db, tenant, "cohen", Profile(name="David C.", scopes=["b", "a", "b"]))
        after = users.get_user(db, tenant, "cohen")

    assert after == DirectoryUser(
        id="cohen",
        name="David C.",
        email=None,
        timezone="Asia/Jerusalem",
        locale="en",
        working_hours={day: ["09:00", "17:00"] for day in ("mon", "tue", "wed", "thu", "fri")},
        scopes=frozenset({"a", "b"}),
        created_at=before.created_at,
    )
    assert meant(tenant, "david c.") == {"cohen"}


def test_granting_and_revoking(tenant: UUID) -> None:
    """Scopes are a set. Granting one twice, or revoking one that was not granted, is no error."""
    with transaction() as db:
        granted = users.grant(db, tenant, "noa", ["b", "a", "a"])
        left = users.revoke(db, tenant, "noa", ["b", "x"])
    with transaction() as db:
        assert users.get_user(db, tenant, "noa").scopes == {"a"}
        with pytest.raises(NotFound):
            users.grant(db, tenant, "ghost", ["a"])

    assert (granted, left) == (["a", "b"], ["a"])


@pytest.mark.parametrize(
    "fields",
    [
        {"timezone": "Mars/Olympus"},
        {"email": "nobody"},
        {"working_hours": {"mon": ["17:00", "09:00"]}},
        {"working_hours": {"mon": ["9", "17"]}},
        {"working_hours": {"montag": ["09:00", "17:00"]}},
        {"scopes": ["not a scope"]},
        {"name": ""},
        {"shoe_size": 44},
    ],
)
def test_a_wrong_profile_is_refused(fields: dict[str, object]) -> None:
    """Time zones, addresses, hours and scopes have a fixed form."""
    with pytest.raises(ValidationError):
        Profile.model_validate({"name": "x", **fields})
