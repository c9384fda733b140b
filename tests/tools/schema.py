# SPDX-License-Identifier: Apache-2.0
"""JSON Schema, as much of 2020-12 as docs/policy.schema.json uses.  A keyword it does not know is an
error of the schema, so that nothing there is without effect."""
import re

NOTES = {'$schema', '$id', '$defs', 'title', 'description'}


def is_type(value, name):
    if name == 'integer':
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, {'object': dict, 'array': list, 'string': str, 'boolean': bool}[name])


class Schema:
    def __init__(self, root):
        self.root = root

    def accepts(self, value, schema=None):
        schema = self.root if schema is None else schema
        return all(getattr(self, 'check_' + keyword.strip('$'))(value, argument, schema)
                   for keyword, argument in schema.items() if keyword not in NOTES)

    def check_ref(self, value, pointer, schema):
        target = self.root
        for part in pointer.removeprefix('#/').split('/'):
            target = target[part]
        return self.accepts(value, target)

    def check_anyOf(self, value, schemas, schema):
        return any(self.accepts(value, one) for one in schemas)

    def check_type(self, value, name, schema):
        return is_type(value, name)

    def check_enum(self, value, choices, schema):
        return value in choices

    def check_const(self, value, constant, schema):
        return value == constant and type(value) is type(constant)

    def check_required(self, value, keys, schema):
        return not isinstance(value, dict) or all(key in value for key in keys)

    def check_properties(self, value, properties, schema):
        return not isinstance(value, dict) or all(
            self.accepts(value[key], one) for key, one in properties.items() if key in value)

    def check_additionalProperties(self, value, allowed, schema):
        if not isinstance(value, dict):
            return True
        more = [value[key] for key in value if key not in schema.get('properties', {})]
        return not more if allowed is False else all(self.accepts(one, allowed) for one in more)

    def check_propertyNames(self, value, names, schema):
        return not isinstance(value, dict) or all(self.accepts(key, names) for key in value)

    def check_items(self, value, one, schema):
        return not isinstance(value, list) or all(self.accepts(element, one) for element in value)

    def check_minItems(self, value, least, schema):
        return not isinstance(value, list) or len(value) >= least

    def check_maxItems(self, value, most, schema):
        return not isinstance(value, list) or len(value) <= most

    def check_minLength(self, value, least, schema):
        return not isinstance(value, str) or len(value) >= least

    def check_maxLength(self, value, most, schema):
        return not isinstance(value, str) or len(value) <= most

    def check_pattern(self, value, pattern, schema):
        return not isinstance(value, str) or re.search(pattern, value) is not None

    def check_minimum(self, value, least, schema):
        return not is_type(value, 'integer') or value >= least

    def check_maximum(self, value, most, schema):
        return not is_type(value, 'integer') or value <= most


def keys(schema):
    """Every property name in a schema, with the pointers at which it stands."""
    found = {}

    def walk(node, pointer):
        if isinstance(node, dict):
            for name in node.get('properties', {}) if isinstance(node.get('properties'), dict) else {}:
                found.setdefault(name, []).append(pointer + '/properties/' + name)
            for key, child in node.items():
                walk(child, pointer + '/' + key)
        elif isinstance(node, list):
            for i, child in enumerate(node):
                walk(child, f'{pointer}/{i}')

    walk(schema, '')
    return found
