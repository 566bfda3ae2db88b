from django.db import migrations

from governance.plumbing.sql import append_only, drop_append_only

TABLES = ["budgets_budgetentry", "budgets_transaction", "budgets_posting"]

BALANCED = """
CREATE FUNCTION budgets_require_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE found integer; fault text;
BEGIN
    SELECT sum(n), max(currency) FILTER (WHERE total <> 0) INTO found, fault FROM (
        SELECT currency, count(*) AS n, sum(amount) AS total FROM budgets_posting
        WHERE transaction_id = NEW.id GROUP BY currency) AS sums;
    IF fault IS NOT NULL OR found IS DISTINCT FROM NEW.lines THEN
        RAISE EXCEPTION 'ledger transaction % does not balance in %, or has % of % postings',
            NEW.key, fault, coalesce(found, 0), NEW.lines
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER budgets_transaction_balance AFTER INSERT ON budgets_transaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION budgets_require_balance();

CREATE FUNCTION budgets_refuse_more() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE fault text;
BEGIN
    SELECT t.key INTO fault FROM budgets_transaction t
        JOIN (SELECT transaction_id, count(*) AS n FROM budgets_posting
              WHERE transaction_id IN (SELECT DISTINCT transaction_id FROM fresh)
              GROUP BY transaction_id) AS had ON had.transaction_id = t.id
        WHERE had.n > t.lines LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % takes no more postings', fault
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER budgets_posting_complete AFTER INSERT ON budgets_posting
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION budgets_refuse_more();
"""

NOT_BALANCED = """
DROP TRIGGER budgets_posting_complete ON budgets_posting;
DROP FUNCTION budgets_refuse_more();
DROP TRIGGER budgets_transaction_balance ON budgets_transaction;
DROP FUNCTION budgets_require_balance();
"""


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_initial"), ("plumbing", "0002_append_only")]
    operations = [
        *(migrations.RunSQL(append_only(t), drop_append_only(t)) for t in TABLES),
        migrations.RunSQL(BALANCED, NOT_BALANCED),
    ]
