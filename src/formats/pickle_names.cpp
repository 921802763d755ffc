#include "formats/pickle_names.h"

#include <algorithm>
#include <iterator>

namespace gpt2 {
namespace {

constexpr PickleName function(std::string_view name, PickleFunction function) {
  return {name, function, std::nullopt};
}

constexpr PickleName storage(std::string_view name, DType dtype) {
  return {name, std::nullopt, dtype};
}

constexpr PickleName kAllowed[] = {
    function("collections OrderedDict", PickleFunction::ordered_dict),
    function("torch Size", PickleFunction::size),
    function("torch._utils _rebuild_tensor", PickleFunction::rebuild_tensor),
    function("torch._utils _rebuild_tensor_v2", PickleFunction::rebuild_tensor),
    function("torch._utils _rebuild_parameter", PickleFunction::rebuild_parameter),
    storage("torch FloatStorage", DType::f32),
    storage("torch HalfStorage", DType::f16),
    storage("torch BFloat16Storage", DType::bf16),
    storage("torch DoubleStorage", DType::f64),
    storage("torch LongStorage", DType::i64),
    storage("torch IntStorage", DType::i32),
    storage("torch ShortStorage", DType::i16),
    storage("torch CharStorage", DType::i8),
    storage("torch ByteStorage", DType::u8),
    storage("torch BoolStorage", DType::boolean),
    storage("torch.storage UntypedStorage", DType::u8),
};

struct OpcodeName {
  unsigned char opcode;
  std::string_view name;
};

// Those that no state_dict needs, under the names of Python's pickletools.
constexpr OpcodeName kRefused[] = {
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x8b, "LONG4"},
    {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},
    {0x8e, "BINBYTES8"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

const PickleName* find_pickle_name(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kAllowed), std::end(kAllowed),
                                  [&](const PickleName& allowed) { return allowed.name == name; });
  return found == std::end(kAllowed) ? nullptr : found;
}

std::string_view name_of_refused_opcode(unsigned char opcode) noexcept {
  const auto found =
      std::find_if(std::begin(kRefused), std::end(kRefused),
                   [&](const OpcodeName& refused) { return refused.opcode == opcode; });
  return found == std::end(kRefused) ? "unknown" : found->name;
}

}  // namespace gpt2
