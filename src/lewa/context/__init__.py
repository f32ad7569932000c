"""Turn the information about a request before its decision into a vector of features, by columns that are declared once."""

from lewa.context.columns import Category, Column, Number, Text, VectorColumn, category, number, text, vector
from lewa.context.encoder import MOST_FEATURES, Context, as_context

__all__ = [
    "MOST_FEATURES",
    "Category",
    "Column",
    "Context",
    "Number",
    "Text",
    "VectorColumn",
    "as_context",
    "category",
    "number",
    "text",
    "vector",
]
