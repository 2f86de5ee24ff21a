"""Tables as Markdown has them."""


def table_lines(columns, text_columns, rows):
    """The head, the rule and a line for each row of cells. Columns of text are on the left, all others on the right."""
    rules = "|".join("---" if name in text_columns else "---:" for name in columns)
    return ["| " + " | ".join(columns) + " |", f"|{rules}|", *("| " + " | ".join(cells) + " |" for cells in rows)]
