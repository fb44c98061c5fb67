#include "replay/formats/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <unordered_map>

#include "replay/formats/pickle_globals.h"

namespace assay {
namespace {

/// Marks the start of a group on the stack; never a real value.
constexpr PickleId kMark = -1;

auto children(const PickleValue& value) -> std::vector<PickleId> {
  std::vector<PickleId> ids;
  if (const auto* list = std::get_if<PickleList>(&value.value)) ids = list->items;
  if (const auto* dict = std::get_if<PickleDict>(&value.value))
    for (const auto& [key, item] : dict->items) {
      ids.push_back(key);
      ids.push_back(item);
    }
  return ids;
}

/// Walks everything below the root once, children first, and refuses cycles, deep nesting and
/// values that would be met too often by a caller who follows shared parts again and again.
auto check_shape(const Pickle& pickle, const PickleLimits& limits) -> Result<void> {
  enum class State : std::uint8_t { fresh, open, closed };
  struct Visit {
    PickleId id;
    std::vector<PickleId> below;
    std::size_t next = 0;
  };
  std::vector<State> states(pickle.values.size(), State::fresh);
  std::vector<std::int64_t> expanded(pickle.values.size(), 1);
  std::vector<int> heights(pickle.values.size(), 0);
  std::vector<Visit> path;
  const auto enter = [&](PickleId id) {
    states[static_cast<std::size_t>(id)] = State::open;
    path.push_back({id, children(pickle.at(id))});
  };
  const auto too_deep = bad_input("pickle: nested deeper than {}", limits.max_depth);
  enter(pickle.root);
  while (!path.empty()) {
    auto& visit = path.back();
    const auto self = static_cast<std::size_t>(visit.id);
    if (visit.next == visit.below.size()) {
      states[self] = State::closed;
      for (const auto id : visit.below) {
        expanded[self] += expanded[static_cast<std::size_t>(id)];
        heights[self] = std::max(heights[self], heights[static_cast<std::size_t>(id)] + 1);
        if (expanded[self] > limits.max_expanded) return bad_input("pickle: too many values");
      }
      if (heights[self] > limits.max_depth) return too_deep;
      path.pop_back();
      continue;
    }
    const auto next = visit.below[visit.next++];
    const auto state = states[static_cast<std::size_t>(next)];
    if (state == State::open) return bad_input("pickle: contains itself");
    if (state == State::fresh) enter(next);
    if (path.size() > static_cast<std::size_t>(limits.max_depth)) return too_deep;
  }
  return {};
}

class Machine {
 public:
  Machine(std::string_view bytes, const PickleLimits& limits) : bytes_(bytes), limits_(limits) {}
  auto run() -> Result<Pickle>;

 private:
  using Handler = auto (Machine::*)() -> Result<void>;
  struct Row {
    unsigned char opcode;
    std::string_view name;
    Handler handler;  ///< null: known but refused, because it would build an object
  };
  static auto rows() -> std::span<const Row>;
  auto step(unsigned char opcode) -> Result<void>;

  // Input.
  auto take(std::size_t count) -> Result<std::string_view>;
  auto take_line() -> Result<std::string_view>;
  template <class T>
  auto take_number() -> Result<T>;
  template <class Length>
  auto take_counted() -> Result<std::string_view>;

  // Stack.
  auto push_id(PickleId id) -> Result<void>;
  template <class T>
  auto push(T value) -> Result<void>;
  auto pop() -> Result<PickleId>;
  auto pop_group() -> Result<std::vector<PickleId>>;
  template <class T>
  auto top() -> Result<T*>;

  // Opcode families.
  auto skip_protocol() -> Result<void>;
  auto skip_frame() -> Result<void>;
  auto stop() -> Result<void>;
  auto mark() -> Result<void> { return push_id(kMark); }
  auto none() -> Result<void> { return push(std::monostate{}); }
  template <bool kValue>
  auto boolean() -> Result<void> {
    return push(kValue);
  }
  template <class T>
  auto binary_int() -> Result<void>;
  template <class Length>
  auto binary_long() -> Result<void>;
  auto binary_float() -> Result<void>;
  template <class Length>
  auto text() -> Result<void>;
  template <class Length>
  auto raw() -> Result<void>;
  template <class T>
  auto empty() -> Result<void> {
    return push(T{});
  }
  auto empty_tuple() -> Result<void> { return push(PickleList{{}, true}); }
  auto tuple_of_group() -> Result<void>;
  template <int kCount>
  auto tuple_of() -> Result<void>;
  auto append() -> Result<void>;
  auto append_group() -> Result<void>;
  auto set_item() -> Result<void>;
  auto set_group() -> Result<void>;
  template <class Index>
  auto put() -> Result<void>;
  template <class Index>
  auto get() -> Result<void>;
  auto memoize() -> Result<void>;
  auto put_at(std::uint64_t index) -> Result<void>;
  auto get_at(std::uint64_t index) -> Result<void>;
  auto global() -> Result<void>;
  auto stack_global() -> Result<void>;
  auto push_global(std::string name) -> Result<void>;
  auto reduce() -> Result<void>;
  auto build() -> Result<void>;
  auto persistent_id() -> Result<void>;

  std::string_view bytes_;
  PickleLimits limits_;
  std::size_t at_ = 0;
  Pickle result_;
  std::vector<PickleId> stack_;
  std::unordered_map<std::uint64_t, PickleId> memo_;
  bool done_ = false;
};

auto Machine::take(std::size_t count) -> Result<std::string_view> {
  if (count > bytes_.size() - at_) return bad_input("truncated");
  const auto part = bytes_.substr(at_, count);
  at_ += count;
  return part;
}

auto Machine::take_line() -> Result<std::string_view> {
  const auto end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) return bad_input("truncated");
  const auto line = bytes_.substr(at_, end - at_);
  at_ = end + 1;
  return line;
}

/// A little endian number of the width of T.
template <class T>
auto Machine::take_number() -> Result<T> {
  ASSAY_TRY(const auto part, take(sizeof(T)));
  T value;
  part.copy(reinterpret_cast<char*>(&value), sizeof(T));
  return value;
}

template <class Length>
auto Machine::take_counted() -> Result<std::string_view> {
  ASSAY_TRY(const auto length, take_number<Length>());
  return take(length);
}

auto Machine::push_id(PickleId id) -> Result<void> {
  if (stack_.size() >= limits_.max_values) return bad_input("stack is too deep");
  stack_.push_back(id);
  return {};
}

template <class T>
auto Machine::push(T value) -> Result<void> {
  if (result_.values.size() >= limits_.max_values) return bad_input("too many values");
  result_.values.push_back(PickleValue{std::move(value)});
  return push_id(static_cast<PickleId>(result_.values.size() - 1));
}

auto Machine::pop() -> Result<PickleId> {
  if (stack_.empty() || stack_.back() == kMark) return bad_input("stack is empty");
  const auto id = stack_.back();
  stack_.pop_back();
  return id;
}

/// Everything above the innermost mark, which goes too.
auto Machine::pop_group() -> Result<std::vector<PickleId>> {
  const auto mark = std::find(stack_.rbegin(), stack_.rend(), kMark);
  if (mark == stack_.rend()) return bad_input("no mark on the stack");
  std::vector<PickleId> group(mark.base(), stack_.end());
  stack_.erase(mark.base() - 1, stack_.end());
  return group;
}

template <class T>
auto Machine::top() -> Result<T*> {
  if (stack_.empty() || stack_.back() == kMark) return bad_input("stack is empty");
  auto* value = std::get_if<T>(&result_.values[static_cast<std::size_t>(stack_.back())].value);
  if (value == nullptr) return bad_input("value of the wrong kind on the stack");
  return value;
}

auto Machine::skip_protocol() -> Result<void> {
  ASSAY_TRY(const auto version, take_number<std::uint8_t>());
  if (version > 5) return unsupported("protocol {}", version);
  return {};
}

auto Machine::skip_frame() -> Result<void> {
  ASSAY_TRY(const auto length, take_number<std::uint64_t>());
  if (length > bytes_.size() - at_) return bad_input("truncated");
  return {};
}

auto Machine::stop() -> Result<void> {
  ASSAY_TRY(result_.root, pop());
  if (!stack_.empty()) return bad_input("values left on the stack");
  done_ = true;
  return {};
}

template <class T>
auto Machine::binary_int() -> Result<void> {
  ASSAY_TRY(const auto value, take_number<T>());
  return push(static_cast<std::int64_t>(value));
}

/// Two's complement, little endian, shortest form.
template <class Length>
auto Machine::binary_long() -> Result<void> {
  ASSAY_TRY(const auto part, take_counted<Length>());
  if (part.size() > sizeof(std::int64_t)) return unsupported("integer beyond 64 bits");
  std::uint64_t value = !part.empty() && (part.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = part.size(); i-- > 0;)
    value = (value << 8) | static_cast<unsigned char>(part[i]);
  return push(static_cast<std::int64_t>(value));
}

auto Machine::binary_float() -> Result<void> {
  ASSAY_TRY(const auto part, take(8));  // big endian, unlike everything else
  std::uint64_t bits = 0;
  for (const char c : part) bits = (bits << 8) | static_cast<unsigned char>(c);
  double value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return push(value);
}

template <class Length>
auto Machine::text() -> Result<void> {
  ASSAY_TRY(const auto part, take_counted<Length>());
  return push(std::string(part));
}

template <class Length>
auto Machine::raw() -> Result<void> {
  ASSAY_TRY(const auto part, take_counted<Length>());
  return push(PickleBytes{std::string(part)});
}

auto Machine::tuple_of_group() -> Result<void> {
  ASSAY_TRY(auto group, pop_group());
  return push(PickleList{std::move(group), true});
}

template <int kCount>
auto Machine::tuple_of() -> Result<void> {
  PickleList tuple{std::vector<PickleId>(kCount), true};
  for (auto i = tuple.items.size(); i-- > 0;) {
    ASSAY_TRY(tuple.items[i], pop());
  }
  return push(std::move(tuple));
}

auto Machine::append() -> Result<void> {
  ASSAY_TRY(const auto item, pop());
  ASSAY_TRY(auto* list, top<PickleList>());
  if (list->is_tuple) return bad_input("append to a tuple");
  list->items.push_back(item);
  return {};
}

auto Machine::append_group() -> Result<void> {
  ASSAY_TRY(const auto group, pop_group());
  ASSAY_TRY(auto* list, top<PickleList>());
  if (list->is_tuple) return bad_input("append to a tuple");
  list->items.insert(list->items.end(), group.begin(), group.end());
  return {};
}

auto Machine::set_item() -> Result<void> {
  ASSAY_TRY(const auto value, pop());
  ASSAY_TRY(const auto key, pop());
  ASSAY_TRY(auto* dict, top<PickleDict>());
  dict->items.emplace_back(key, value);
  return {};
}

auto Machine::set_group() -> Result<void> {
  ASSAY_TRY(const auto group, pop_group());
  ASSAY_TRY(auto* dict, top<PickleDict>());
  if (group.size() % 2 != 0) return bad_input("key without a value");
  for (std::size_t i = 0; i < group.size(); i += 2)
    dict->items.emplace_back(group[i], group[i + 1]);
  return {};
}

auto Machine::put_at(std::uint64_t index) -> Result<void> {
  if (stack_.empty() || stack_.back() == kMark) return bad_input("stack is empty");
  if (memo_.size() >= limits_.max_values) return bad_input("memo is too large");
  memo_[index] = stack_.back();
  return {};
}

auto Machine::get_at(std::uint64_t index) -> Result<void> {
  const auto found = memo_.find(index);
  if (found == memo_.end()) return bad_input("nothing in the memo at {}", index);
  return push_id(found->second);
}

template <class Index>
auto Machine::put() -> Result<void> {
  ASSAY_TRY(const auto index, take_number<Index>());
  return put_at(index);
}

template <class Index>
auto Machine::get() -> Result<void> {
  ASSAY_TRY(const auto index, take_number<Index>());
  return get_at(index);
}

auto Machine::memoize() -> Result<void> {
  return put_at(memo_.size());
}

auto Machine::push_global(std::string name) -> Result<void> {
  const auto found = find_pickle_global(name);
  if (!found) {
    for (char& c : name)
      if (c < 0x20 || c == 0x7f) c = '?';  // the name goes to a terminal
    return unsupported("global {} is refused: a capture needs no code", name.substr(0, 200));
  }
  if (found->kind == PickleGlobalKind::dtype && found->dtype) return push(*found->dtype);
  return push(PickleGlobal{std::move(name)});
}

auto Machine::global() -> Result<void> {
  ASSAY_TRY(const auto module, take_line());
  ASSAY_TRY(const auto name, take_line());
  return push_global(fmt::format("{}.{}", module, name));
}

auto Machine::stack_global() -> Result<void> {
  ASSAY_TRY(const auto* name, top<std::string>());
  stack_.pop_back();
  ASSAY_TRY(const auto* module, top<std::string>());
  stack_.pop_back();
  return push_global(fmt::format("{}.{}", *module, *name));
}

auto Machine::reduce() -> Result<void> {
  ASSAY_TRY(const auto* arguments, top<PickleList>());
  const auto ids = arguments->items;
  stack_.pop_back();
  ASSAY_TRY(const auto* callee, top<PickleGlobal>());
  const auto name = callee->name;
  stack_.pop_back();
  ASSAY_TRY(auto value, call_pickle_global(name, ids, result_));
  return push(std::move(value.value));
}

/// A state dict carries its `_metadata` as an attribute of the OrderedDict; nothing needs it.
auto Machine::build() -> Result<void> {
  ASSAY_TRY([[maybe_unused]] const auto state, pop());
  ASSAY_TRY([[maybe_unused]] const auto* dict, top<PickleDict>());
  return {};
}

auto Machine::persistent_id() -> Result<void> {
  ASSAY_TRY(const auto* parts, top<PickleList>());
  ASSAY_TRY(auto storage, resolve_persistent_id(parts->items, result_));
  stack_.pop_back();
  return push(std::move(storage));
}

auto Machine::rows() -> std::span<const Row> {
  using M = Machine;
  static constexpr std::array kRows = {
      Row{0x80, "PROTO", &M::skip_protocol},
      Row{0x95, "FRAME", &M::skip_frame},
      Row{'.', "STOP", &M::stop},
      Row{'(', "MARK", &M::mark},
      Row{'N', "NONE", &M::none},
      Row{0x88, "NEWTRUE", &M::boolean<true>},
      Row{0x89, "NEWFALSE", &M::boolean<false>},
      Row{'J', "BININT", &M::binary_int<std::int32_t>},
      Row{'K', "BININT1", &M::binary_int<std::uint8_t>},
      Row{'M', "BININT2", &M::binary_int<std::uint16_t>},
      Row{0x8a, "LONG1", &M::binary_long<std::uint8_t>},
      Row{0x8b, "LONG4", &M::binary_long<std::uint32_t>},
      Row{'G', "BINFLOAT", &M::binary_float},
      Row{0x8c, "SHORT_BINUNICODE", &M::text<std::uint8_t>},
      Row{'X', "BINUNICODE", &M::text<std::uint32_t>},
      Row{0x8d, "BINUNICODE8", &M::text<std::uint64_t>},
      Row{'C', "SHORT_BINBYTES", &M::raw<std::uint8_t>},
      Row{'B', "BINBYTES", &M::raw<std::uint32_t>},
      Row{0x8e, "BINBYTES8", &M::raw<std::uint64_t>},
      Row{']', "EMPTY_LIST", &M::empty<PickleList>},
      Row{'a', "APPEND", &M::append},
      Row{'e', "APPENDS", &M::append_group},
      Row{')', "EMPTY_TUPLE", &M::empty_tuple},
      Row{'t', "TUPLE", &M::tuple_of_group},
      Row{0x85, "TUPLE1", &M::tuple_of<1>},
      Row{0x86, "TUPLE2", &M::tuple_of<2>},
      Row{0x87, "TUPLE3", &M::tuple_of<3>},
      Row{'}', "EMPTY_DICT", &M::empty<PickleDict>},
      Row{'s', "SETITEM", &M::set_item},
      Row{'u', "SETITEMS", &M::set_group},
      Row{'q', "BINPUT", &M::put<std::uint8_t>},
      Row{'r', "LONG_BINPUT", &M::put<std::uint32_t>},
      Row{0x94, "MEMOIZE", &M::memoize},
      Row{'h', "BINGET", &M::get<std::uint8_t>},
      Row{'j', "LONG_BINGET", &M::get<std::uint32_t>},
      Row{'c', "GLOBAL", &M::global},
      Row{0x93, "STACK_GLOBAL", &M::stack_global},
      Row{'R', "REDUCE", &M::reduce},
      Row{'b', "BUILD", &M::build},
      Row{'Q', "BINPERSID", &M::persistent_id},
      // Named so that the refusal says what was asked for.
      Row{'i', "INST", nullptr},
      Row{'o', "OBJ", nullptr},
      Row{0x81, "NEWOBJ", nullptr},
      Row{0x92, "NEWOBJ_EX", nullptr},
      Row{'P', "PERSID", nullptr},
      Row{0x82, "EXT1", nullptr},
      Row{0x83, "EXT2", nullptr},
      Row{0x84, "EXT4", nullptr},
      Row{0x8f, "EMPTY_SET", nullptr},
      Row{0x97, "NEXT_BUFFER", nullptr},
  };
  return kRows;
}

auto Machine::step(unsigned char opcode) -> Result<void> {
  for (const auto& row : rows()) {
    if (row.opcode != opcode) continue;
    if (row.handler == nullptr) return unsupported("opcode {} is refused", row.name);
    return (this->*row.handler)();
  }
  return bad_input("unknown opcode 0x{:02x}", opcode);
}

auto Machine::run() -> Result<Pickle> {
  while (!done_) {
    const auto where = at_;
    if (where == bytes_.size()) return bad_input("pickle offset {}: truncated", where);
    const auto opcode = static_cast<unsigned char>(bytes_[at_++]);
    if (auto stepped = step(opcode); !stepped)
      return with_context(std::move(stepped).error(), fmt::format("pickle offset {}", where));
  }
  ASSAY_TRY_VOID(check_shape(result_, limits_));
  return std::move(result_);
}

}  // namespace

auto read_pickle(std::string_view bytes, const PickleLimits& limits) -> Result<Pickle> {
  return Machine(bytes, limits).run();
}

}  // namespace assay
