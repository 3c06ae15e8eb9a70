"""What people see of queries: plans, profiles, pictures and tables of rows."""
