// Pickles and torch.save files put together from opcodes, so that tests need no Python.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/formats/zip.h"

namespace assay::testing_support {

/// Opcodes that leave one value on the stack.
using Op = std::string;

inline auto number32(std::uint32_t value) -> std::string {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

inline auto op_int(std::int32_t value) -> Op {
  return "J" + number32(static_cast<std::uint32_t>(value));
}
inline auto op_bool(bool value) -> Op {
  return value ? "\x88" : "\x89";
}
inline auto op_text(std::string_view text) -> Op {
  return "X" + number32(static_cast<std::uint32_t>(text.size())) + std::string(text);
}
inline auto op_global(std::string_view module, std::string_view name) -> Op {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}
inline auto op_tuple(const std::vector<Op>& items) -> Op {
  Op op = "(";
  for (const auto& item : items) op += item;
  return op + "t";
}
inline auto op_ints(const std::vector<std::int32_t>& values) -> Op {
  std::vector<Op> items;
  for (const auto value : values) items.push_back(op_int(value));
  return op_tuple(items);
}
inline auto op_dict(const std::vector<std::pair<std::string, Op>>& items) -> Op {
  Op op = "}(";
  for (const auto& [key, value] : items) op += op_text(key) + value;
  return op + "u";
}
inline auto op_call(const Op& callee, const std::vector<Op>& arguments) -> Op {
  return callee + op_tuple(arguments) + "R";
}
inline auto pickle(const Op& value) -> std::string {
  return "\x80\x02" + value + ".";
}

/// The way torch.save writes a tensor: `type` is "FloatStorage" and the like.
inline auto op_tensor(std::string_view type, std::string_view key, std::int32_t count,
                      const std::vector<std::int32_t>& sizes,
                      const std::vector<std::int32_t>& strides, std::int32_t offset = 0) -> Op {
  const auto storage = op_tuple({op_text("storage"), op_global("torch", type), op_text(key),
                                 op_text("cpu"), op_int(count)}) +
                       "Q";
  return op_call(op_global("torch._utils", "_rebuild_tensor_v2"),
                 {storage, op_int(offset), op_ints(sizes), op_ints(strides), op_bool(false),
                  op_call(op_global("collections", "OrderedDict"), {})});
}

/// A torch.save file with its storages in order.
inline auto torch_file(const Op& value, const std::vector<std::string>& storages,
                       std::string_view byte_order = "little") -> std::string {
  const auto text = pickle(value);
  std::vector<ZipFile> files = {{"archive/data.pkl", text}, {"archive/byteorder", byte_order}};
  for (std::size_t i = 0; i < storages.size(); ++i)
    files.push_back({"archive/data/" + std::to_string(i), storages[i]});
  return write_zip(files).value();
}

/// Bytes of float32 values.
inline auto float_bytes(const std::vector<float>& values) -> std::string {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace assay::testing_support
