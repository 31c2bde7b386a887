"""The settings of the hotel pack."""

from pydantic import BaseModel, Field, SecretStr

from turnloom.models.runtime.environment_settings import EnvironmentSettings


class MiniHotelCredentials(BaseModel):
    """A user of MiniHotel's interface."""

    username: str
    password: SecretStr


class HotelSettings(EnvironmentSettings):
    """The settings of the hotel pack."""

    link_secret: str | None = None
    """Key that signs the booking links of the hotel pack; the booking site checks them with the same key. The embedded
    stack generates one."""
    minihotel_credentials: dict[str, MiniHotelCredentials] = Field({})
    """Credentials for hotels on MiniHotel, as JSON: `{"NAME": {"username": "…", "password": "…"}}`. A hotel's catalogue
    names the one it uses."""
