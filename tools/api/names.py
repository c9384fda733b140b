# SPDX-License-Identifier: Apache-2.0
"""What groups of constants and statuses are called in languages that have classes."""
import os.path

# Groups that would have the name of a class with which the language's own layer is written.
TAKEN = {"enum": "EnumKind", "event": "EventType", "exit": "ExitReason", "field": "Field", "request": "RequestKind"}
FLAGS = {"access", "context_flag"}


def camel(words):
    return "".join(word.capitalize() for word in words.lower().split("_"))


def class_of(group):
    return TAKEN.get(group, camel(group))


def members(constants):
    """(short name, value, doc) of each constant of a group."""
    names = [one["name"] for one in constants["values"]]
    prefix = f"ABX_{constants['group'].upper()}_"
    if not all(name.startswith(prefix) for name in names):
        prefix = os.path.commonprefix([name[:name.find("_") + 1] for name in names])
    return [(one["name"][len(prefix):], one["value"], one["doc"]) for one in constants["values"]]


def error_class(status):
    """ABX_ERR_POLICY is PolicyError."""
    return camel(status["name"].replace("ABX_ERR_", "")) + "Error"


def errors(api):
    return [one for one in api["statuses"] if one["value"] < 0]
