"""What makes tools and projects: `stepwire new` and `stepwire wrap`, at a terminal."""
