"""Present results: plain numbers, tables, figures and pages."""
