"""Zone routing: clients speak only to brokers of their zone, which forward what others lead."""
