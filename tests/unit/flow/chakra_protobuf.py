"""Chakra traces by Google's protobuf: the other side of chakra_protobuf_test.cc.

    chakra_protobuf.py write FILE   a trace with every number type of the schema
    chakra_protobuf.py read FILE    prints what is in a trace; exit 1 where a field is not the schema's

The schema is MLCommons' et_def.proto (Chakra 0.0.4), spelled out here so that no compiler is needed.
"""

import sys

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.internal import decoder, encoder

try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:  # before 4.22
    from google.protobuf.message_factory import MessageFactory

    GetMessageClass = MessageFactory().GetPrototype

TYPES = "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 bool string bytes"


def schema():
    proto = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="chakra", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto

    def field(message, number, name, kind, repeated=False, oneof=False):
        f = message.field.add(name=name, number=number)
        f.label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
        if hasattr(kinds, "TYPE_" + kind.upper()):
            f.type = getattr(kinds, "TYPE_" + kind.upper())
        else:
            f.type, f.type_name = kinds.TYPE_MESSAGE, ".chakra." + kind
        if oneof:
            f.oneof_index = 0

    attribute = proto.message_type.add(name="AttributeProto")
    field(attribute, 1, "name", "string")
    field(attribute, 2, "doc_string", "string")
    attribute.oneof_decl.add(name="value")
    number = 3
    for kind in TYPES.split():
        values = proto.message_type.add(name=kind.capitalize() + "List")
        field(values, 1, "values", kind, repeated=True)
        field(attribute, number, kind + "_val", kind, oneof=True)
        field(attribute, number + 1, kind + "_list", values.name, oneof=True)
        number += 2
    metadata = proto.message_type.add(name="GlobalMetadata")
    field(metadata, 1, "version", "string")
    field(metadata, 2, "attr", "AttributeProto", repeated=True)
    io = proto.message_type.add(name="IOInfo")
    for i, name in enumerate(("values", "shapes", "types")):
        field(io, i + 1, name, "string")
    node = proto.message_type.add(name="Node")
    field(node, 1, "id", "uint64")
    field(node, 2, "name", "string")
    field(node, 3, "type", "uint64")  # an enum on the wire
    field(node, 4, "ctrl_deps", "uint64", repeated=True)
    field(node, 5, "data_deps", "uint64", repeated=True)
    field(node, 6, "start_time_micros", "uint64")
    field(node, 7, "duration_micros", "uint64")
    field(node, 8, "inputs", "IOInfo")
    field(node, 9, "outputs", "IOInfo")
    field(node, 10, "attr", "AttributeProto", repeated=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto) if hasattr(pool, "Add") else pool.AddSerializedFile(proto.SerializeToString())
    return lambda name: GetMessageClass(pool.FindMessageTypeByName("chakra." + name))()


make = schema()


def append(out, message):
    data = message.SerializeToString()
    encoder._EncodeVarint(out.write, len(data))
    out.write(data)


def attribute(node, name, kind, value):
    a = node.attr.add(name=name, doc_string="passed over")
    if kind == "bool_list":
        a.bool_list.values.extend(value)
    else:
        setattr(a, kind, value)


def write(path):
    with open(path, "wb") as out:
        metadata = make("GlobalMetadata")
        metadata.version = "0.0.4"
        metadata.attr.add(name="schema", string_val="passed over")
        append(out, metadata)
        # One compute node for each number type that num_ops may have.
        for i, kind in enumerate(TYPES.split()[:12]):
            node = make("Node")
            node.id, node.name, node.type = 100 + i, kind, 4
            node.ctrl_deps.extend(range(100, 100 + i))
            node.start_time_micros, node.duration_micros = 7, 300 + i
            node.inputs.shapes = "[[2, 3]]"
            attribute(node, "num_ops", kind + "_val", 70000 + i)
            attribute(node, "is_cpu_op", "bool_val", i % 2 == 1)
            attribute(node, "other", "bytes_val", b"\x00\xff")
            append(out, node)
        node = make("Node")
        node.id, node.name, node.type = 1 << 40, "gather", 7
        node.data_deps.extend([100, 111])
        attribute(node, "comm_type", "int64_val", 3)
        attribute(node, "comm_size", "uint64_val", 1 << 50)
        attribute(node, "pg_name", "string_val", "5")
        attribute(node, "involved_dim", "bool_list", [True, False, True])
        append(out, node)


def read(path):
    data, at = open(path, "rb").read(), 0
    first = True
    while at < len(data):
        size, at = decoder._DecodeVarint(data, at)
        message = make("GlobalMetadata" if first else "Node")
        message.ParseFromString(data[at : at + size])
        at += size
        known = len(message.SerializeToString())
        message.DiscardUnknownFields()
        if len(message.SerializeToString()) != known:
            sys.exit("a field that the schema does not have")
        if first:
            print("version", message.version)
        else:
            print(message.id, message.name, message.type, list(message.ctrl_deps) + list(message.data_deps),
                  message.duration_micros)
            for a in message.attr:
                kind = a.WhichOneof("value")
                value = getattr(a, kind)
                print(" ", a.name, kind, [int(v) for v in value.values] if kind == "bool_list" else value)
        first = False


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](sys.argv[2])
