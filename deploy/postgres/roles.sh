#!/bin/bash
# Creates the database and its roles: one owns the tables and migrates, one runs the application and owns nothing; the
# third, which nobody logs in as, the application takes for a tenant's requests, and then sees only that tenant's rows.
# The postgres image runs this once, when its data directory is empty. Passwords come from the environment, so that no
# command line shows them.
set -euo pipefail

psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv owner_password TURNLOOM_OWNER_PASSWORD
\getenv application_password TURNLOOM_APPLICATION_PASSWORD
CREATE ROLE turnloom_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE turnloom LOGIN PASSWORD :'application_password';
CREATE ROLE turnloom_tenant NOLOGIN;
GRANT turnloom_tenant TO turnloom;
CREATE DATABASE turnloom OWNER turnloom_owner;
SQL
