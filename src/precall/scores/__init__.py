"""The field's scalar scores."""
