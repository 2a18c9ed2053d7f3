"""Protocol buffers of the dialects that have a gRPC service: descriptors, texts, and functions
between messages and JSON.

model   the contract as files of protocol buffers
wire    those files as a FileDescriptorSet
text    those files as .proto
codec   functions that read messages and write their wire format
"""
