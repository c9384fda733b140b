#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/policy.schema.json, the parser and docs/agentbox-policy.md together.

  check_schema.py CHECK_DOCUMENT SOURCE_ROOT

1. The table in documents.json: what the parser takes and what the schema takes.  A row's `parser` is true,
   false, or "later" (valid, and refused by this build); `schema` is left out where it is the same.
2. From every good document, every single change (a key taken away, a key misspelt, a value of another
   kind): where the schema says no the parser must say no.  Where only the schema says yes, that must be
   for a reason that no schema can see, and the parser's message is of a kind listed here.
3. Every key of the schema is in the table's good documents and in the manual."""
import copy
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'tools'))
from schema import Schema, keys  # noqa: E402

UNSUPPORTED, POLICY = -1006, -1005
# What a schema cannot say.
BEYOND_SCHEMA = re.compile(r"its mode is 'none'|nothing weakens|not set|'..'|another input|already|too\b"
                           r"|is a pattern|no valid host|no port|is a name|loopback of the host|no class"
                           r"|inside a writable root|a secret goes to named|stands alone|says nothing|hold both|stand-in|is missing: it says|there is none|nothing reads requests|no path of a URL|as a component|character class|escapes nothing|inside a component|below the inputs|is a URL|no range|is fixed|is too special|is no pattern|stands behind|are called")


def run(tool, documents):
    data = b''.join(b'%d\n%s' % (len(d), d) for d in documents)
    lines = subprocess.run([tool], input=data, stdout=subprocess.PIPE, check=True).stdout
    answers = [line.split(' ', 1) for line in lines.decode(errors='replace').splitlines()]
    assert len(answers) == len(documents), f'{len(answers)} answers for {len(documents)} documents'
    return [(int(status), message) for status, message in answers]


def places(node, path=()):
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from places(child, path + (key,))


def changed(document, path, change):
    result = copy.deepcopy(document)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return result


def misspell(parent, key):
    parent[key + 'x'] = parent.pop(key)


def mutations(document):
    for path, value in places(document):
        if not path:
            continue
        if isinstance(path[-1], str):
            yield changed(document, path, lambda parent, key: parent.pop(key))
            yield changed(document, path, misspell)
        for other in (None, True, 7, 0, -1, 1.5, '', 'x', '/x', [], ['/x'], {}, {'path': '/x'}):
            if type(other) is not type(value) or other != value:
                yield changed(document, path, lambda parent, key: parent.__setitem__(key, other))


def check_table(tool, schema, rows, problems):
    answers = run(tool, [json.dumps(row['document']).encode() for row in rows])
    for row, (status, message) in zip(rows, answers):
        wanted = {True: 0, False: POLICY, 'later': UNSUPPORTED}[row['parser']]
        if status != wanted:
            problems.append(f"{row['name']}: the parser says {status} {message}")
        if schema.accepts(row['document']) != row.get('schema', row['parser'] is not False):
            problems.append(f"{row['name']}: the schema says otherwise")


def check_mutations(tool, schema, rows, problems):
    documents = [d for row in rows if row['parser'] for d in mutations(row['document'])]
    answers = run(tool, [json.dumps(d).encode() for d in documents])
    for document, (status, message) in zip(documents, answers):
        parser, accepted = status in (0, UNSUPPORTED), schema.accepts(document)
        if parser and not accepted:
            problems.append(f'only the parser takes {json.dumps(document)}')
        elif accepted and not parser and not BEYOND_SCHEMA.search(message):
            problems.append(f'only the schema takes {json.dumps(document)}: {message}')
    return len(documents)


def check_keys(root, definition, rows, problems):
    used = {key for row in rows if row['parser'] for path, _ in places(row['document']) for key in path}
    manual = (root / 'docs/agentbox-policy.md').read_text()
    for key in sorted(keys(definition)):
        if key not in used:
            problems.append(f"no good document has the key '{key}'")
        if f'`{key}`' not in manual:
            problems.append(f"the manual does not have the key '{key}'")


def main():
    tool, root = sys.argv[1], pathlib.Path(sys.argv[2])
    definition = json.loads((root / 'docs/policy.schema.json').read_text())
    rows = json.loads((root / 'tests/policy/documents.json').read_text())
    schema, problems = Schema(definition), []
    check_table(tool, schema, rows, problems)
    n = check_mutations(tool, schema, rows, problems)
    check_keys(root, definition, rows, problems)
    print(f'{len(rows)} documents, {n} changes of them, {len(problems)} problems')
    print('\n'.join(problems[:40]))
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
