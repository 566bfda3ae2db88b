from django.db import migrations

from governance.plumbing.sql import append_only, drop_append_only

TABLES = ["budgets_budgetentry", "budgets_transaction", "budgets_posting"]

BALANCED = """
CREATE FUNCTION budgets_require_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE fault text;
BEGIN
    SELECT currency INTO fault FROM budgets_posting
        WHERE transaction_id = NEW.transaction_id
        GROUP BY currency HAVING sum(amount) <> 0 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger transaction % does not balance in %', NEW.transaction_id, fault
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER budgets_posting_balance AFTER INSERT ON budgets_posting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION budgets_require_balance();
"""

NOT_BALANCED = """
DROP TRIGGER budgets_posting_balance ON budgets_posting;
DROP FUNCTION budgets_require_balance();
"""


class Migration(migrations.Migration):
    dependencies = [("budgets", "0001_initial"), ("plumbing", "0002_append_only")]
    operations = [
        *(migrations.RunSQL(append_only(t), drop_append_only(t)) for t in TABLES),
        migrations.RunSQL(BALANCED, NOT_BALANCED),
    ]
