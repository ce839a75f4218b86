"""Write Arrow schemas as Spark's DDL."""

from __future__ import annotations

import pyarrow as pa


def ddl(schema: pa.Schema) -> str:
    """Return a schema as Spark's DDL."""
    return ", ".join(f"`{field.name}` {_type(field.type)}" for field in schema)


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{_type(kind.key_type)}, {_type(kind.item_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(n) for n in range(kind.num_fields))
        return f"struct<{', '.join(f'`{f.name}`: {_type(f.type)}' for f in fields)}>"
    return _NAMES[kind]


_NAMES = {
    pa.string(): "string",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
}
