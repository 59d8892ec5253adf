"""What the lab teaches, as data: method pages, lessons and glossary. No torch."""
