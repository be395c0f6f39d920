"""The warnings of an audit."""


def kinds(audit):
    return [warning.kind for warning in audit.warnings]


def message(audit, kind):
    (text,) = [warning.message for warning in audit.warnings if warning.kind == kind]
    return text
