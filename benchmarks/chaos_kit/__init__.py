"""What the tests by force share."""
