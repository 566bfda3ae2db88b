"""Rules of budgets in plain Python: division over periods, forecast, anomalies."""
