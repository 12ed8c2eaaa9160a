-- Analytics are in a column store of their own.
DROP SCHEMA "analytics" CASCADE;
