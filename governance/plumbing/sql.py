"""SQL that several rooms' migrations need."""

APPEND_ONLY_FUNCTION = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
"""


def append_only(table: str) -> str:
    """A trigger that refuses UPDATE, DELETE and TRUNCATE of the table."""
    return f"""
    CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table}
        FOR EACH ROW EXECUTE FUNCTION refuse_change();
    CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    """


def drop_append_only(table: str) -> str:
    """The reverse of `append_only`."""
    return f"""
    DROP TRIGGER {table}_append_only ON {table};
    DROP TRIGGER {table}_no_truncate ON {table};
    """
