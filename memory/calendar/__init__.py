"""The calendar as people speak of it in English and Spanish: which days their words mean."""
