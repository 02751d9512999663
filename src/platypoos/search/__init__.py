"""What several planners share."""
