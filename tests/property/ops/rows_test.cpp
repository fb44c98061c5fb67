// Laws that every row of the operator table obeys, over random calls: sizes 0 to 3 (and a few
// larger ones), every order of dimensions, stride 0, step 2, channels-last, offsets.
//   1. the rule on symbols, evaluated back, equals the rule on numbers, aliasing included;
//   2. values do not depend on the layout of the operands;
//   3. arguments that the schema does not mark as written keep their bytes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "core/ops/domain.h"

namespace assay {
namespace {

using Random = std::mt19937_64;

auto pick(Random& random, std::size_t count) -> std::size_t {
  return random() % count;
}
auto chance(Random& random, std::size_t one_in) -> bool {
  return random() % one_in == 0;
}

/// A tensor of the given sizes in a random layout, filled with small values.
auto random_tensor(Random& random, DType dtype, const Ints& sizes) -> Tensor {
  std::vector<std::size_t> order(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (chance(random, 2)) std::ranges::shuffle(order, random);
  if (sizes.size() == 4 && chance(random, 3)) order = {0, 2, 3, 1};
  Ints strides(sizes.size());
  std::int64_t step = chance(random, 4) ? 2 : 1;
  const bool expanded = chance(random, 6);
  for (auto i = order.size(); i-- > 0;) {
    strides[order[i]] = expanded && chance(random, 3) ? 0 : step;
    if (strides[order[i]] != 0) step *= std::max<std::int64_t>(sizes[order[i]], 1);
  }
  const std::int64_t offset = chance(random, 4) ? 3 : 0;
  const auto elems = required_elems(sizes, strides, offset).value_or(0);
  const auto bytes = std::max(elems, offset) * size_bytes(dtype);
  Tensor tensor{std::make_shared<Storage>(bytes),
                RealMeta{dtype, sizes, strides, offset, bytes, {}}};
  const auto count = bytes / size_bytes(dtype);
  Tensor flat{tensor.storage, RealMeta{dtype, {count}, {1}, 0, bytes, {}}};
  std::vector<double> values(static_cast<std::size_t>(count));
  for (auto& value : values)
    value = is_floating(dtype) || is_complex(dtype)
                ? std::uniform_real_distribution<double>(0.1, 0.9)(random)
                : static_cast<double>(pick(random, 2));
  from_vector<double>(flat, values);
  return tensor;
}

auto random_sizes(Random& random) -> Ints {
  Ints sizes(pick(random, 5));
  for (auto& size : sizes)
    size = static_cast<std::int64_t>(chance(random, 4) ? pick(random, 4) : 1 + pick(random, 5));
  return sizes;
}

/// Sizes related to `base` as operands often are: equal, broadcast, transposed, one dimension.
auto related_sizes(Random& random, const Ints& base) -> Ints {
  auto sizes = base;
  switch (pick(random, 5)) {
    case 0:
      return random_sizes(random);
    case 1:
      if (!sizes.empty()) sizes[pick(random, sizes.size())] = 1;
      return sizes;
    case 2:
      std::ranges::reverse(sizes);
      return sizes;
    case 3:
      return sizes.empty() ? sizes : Ints{sizes[pick(random, sizes.size())]};
    default:
      return sizes;
  }
}

auto random_scalar(Random& random, const Param& param) -> Datum {
  switch (param.kind) {
    case ParamKind::integer:
      return {Expr(static_cast<std::int64_t>(pick(random, 4)) - 1)};
    case ParamKind::number:
    case ParamKind::real:
      return {chance(random, 2) ? Expr::real(0.5) : Expr(1)};
    case ParamKind::flag:
      return {Expr::boolean(chance(random, 2))};
    case ParamKind::dtype:
      return {chance(random, 2) ? DType::float32 : DType::int64};
    case ParamKind::text: {
      const char* words[] = {"none", "floor", "trunc",    "tanh",
                             "sum",  "amax",  "constant", "reflect"};
      return {std::string(words[pick(random, std::size(words))])};
    }
    case ParamKind::device:
      return {Device{}};
    case ParamKind::layout:
      return {Layout::strided};
    case ParamKind::memory_format:
      return {chance(random, 2) ? MemoryFormat::contiguous : MemoryFormat::preserve};
    case ParamKind::tensor:
    case ParamKind::other:
      return {};
  }
  return {};
}

auto random_argument(Random& random, const Param& param, const Ints& base, DType dtype) -> Datum {
  if (param.has_default && chance(random, 2)) return param.default_value;
  if (param.optional && chance(random, 3)) return {};
  const auto one = [&]() -> Datum {
    if (param.kind != ParamKind::tensor) return random_scalar(random, param);
    const DType other = chance(random, 4) ? DType::int64 : dtype;
    return {random_tensor(random, other, related_sizes(random, base))};
  };
  if (!param.is_list) return one();
  DatumList items;
  const auto count =
      param.list_length ? static_cast<std::size_t>(param.list_length) : pick(random, 5);
  // Lists of sizes often repeat the base's own.
  if (param.kind == ParamKind::integer && chance(random, 3)) return int_list(base);
  for (std::size_t i = 0; i < count; ++i)
    items.push_back(param.kind == ParamKind::tensor && i > 0 && chance(random, 2)
                        ? Datum{random_tensor(random, dtype, items[0].real()->sizes())}
                        : one());
  return {std::move(items)};
}

template <class F>
auto map_tensors(const Datum& datum, const F& f) -> Datum {
  if (const auto* tensor = datum.real()) return f(*tensor);
  if (const auto* list = datum.list()) {
    DatumList items;
    for (const auto& item : *list) items.push_back(map_tensors(item, f));
    return {std::move(items)};
  }
  return datum;
}

void collect(const Datum& datum, std::vector<Tensor>& tensors) {
  map_tensors(datum, [&](const Tensor& tensor) {
    tensors.push_back(tensor);
    return Datum{};
  });
}

/// Law 1. Symbols: one per input size above 1 (0 and 1 are specialised, as in PyTorch).
class SymbolicTwin {
 public:
  SymbolicTwin() { context_ = std::make_unique<ShapeContext>(env_); }

  auto fake(const Datum& datum) -> Datum {
    return map_tensors(datum, [&](const Tensor& tensor) {
      auto meta = to_claim(tensor.meta);
      for (std::size_t i = 0; i < meta.sizes.size(); ++i)
        if (tensor.sizes()[i] > 1) meta.sizes[i] = symbol(tensor.sizes()[i]);
      return Datum{FakeTensor{meta, storage_id(tensor)}};
    });
  }
  auto run(const OpTable& table, const OpRow& row, DatumList args) -> Result<Datum> {
    *context_ = ShapeContext(env_);
    while (context_->fresh_storage() < 1000) {  // ids below belong to the arguments
    }
    return FakeDomain(table, *context_).run(row, std::move(args));
  }
  /// Did the last run make up symbols for sizes that only the data tell?
  [[nodiscard]] auto needed_data() const -> bool { return !context_->made_symbols().empty(); }
  auto describe(const Datum& datum) -> std::string {
    if (const auto* list = datum.list()) {
      std::string text = "(";
      for (const auto& item : *list) text += describe(item) + ", ";
      return text + ")";
    }
    if (const auto* scalar = datum.scalar()) {
      const auto value = evaluate(*scalar, env_.hints());
      return value ? print_expr(*value) : value.error().message;
    }
    const auto* fake = datum.fake();
    if (!fake) return to_string(datum);
    auto meta = fake->meta;
    for (auto* dims : {&meta.sizes, &meta.strides})
      for (auto& e : *dims) e = evaluate(e, env_.hints()).value_or(Expr::invalid());
    meta.offset = evaluate(meta.offset, env_.hints()).value_or(Expr::invalid());
    return fmt::format("{}+{} in {}", to_string(meta), print_expr(meta.offset),
                       fake->storage < 1000 ? std::to_string(fake->storage) : "own");
  }
  auto describe_real(const Datum& datum) -> std::string {
    if (const auto* list = datum.list()) {
      std::string text = "(";
      for (const auto& item : *list) text += describe_real(item) + ", ";
      return text + ")";
    }
    const auto* tensor = datum.real();
    if (!tensor) return datum.scalar() ? print_expr(*datum.scalar()) : to_string(datum);
    const auto known = ids_.find(tensor->storage.get());
    return fmt::format("{}+{} in {}", to_string(tensor->meta), tensor->meta.offset,
                       known != ids_.end() ? std::to_string(known->second) : "own");
  }

 private:
  auto symbol(std::int64_t value) -> Expr {
    const auto made = env_.add_symbol(fmt::format("s{}", env_.symbols().size()));
    env_.set_hint(*made, Expr(value));
    return *made;
  }
  auto storage_id(const Tensor& tensor) -> int {
    return ids_.try_emplace(tensor.storage.get(), static_cast<int>(ids_.size())).first->second;
  }
  ShapeEnv env_;
  std::unique_ptr<ShapeContext> context_;
  std::map<const Storage*, int> ids_;
};

auto same_values(const Tensor& a, const Tensor& b) -> bool {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const auto x = to_vector<Complex>(a);
  const auto y = to_vector<Complex>(b);
  const auto close = [](double p, double q) {
    return p == q || (std::isnan(p) && std::isnan(q)) ||
           std::fabs(p - q) <= 2e-5 * std::max({1.0, std::fabs(p), std::fabs(q)});
  };
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!close(x[i].real(), y[i].real()) || !close(x[i].imag(), y[i].imag())) return false;
  return true;
}

struct Copies {
  DatumList args;
  std::vector<std::pair<Tensor, std::vector<std::byte>>> bytes;
};
/// Arguments with storages of their own, contiguous or as they are; aliasing is given up.
auto copy_arguments(const DatumList& args, bool contiguous) -> DatumList {
  DatumList copies;
  for (const auto& arg : args)
    copies.push_back(map_tensors(arg, [&](const Tensor& tensor) {
      auto copy = *Tensor::contiguous(tensor.dtype(), tensor.sizes());
      if (!contiguous) {
        copy = Tensor{std::make_shared<Storage>(tensor.storage->size_bytes()), tensor.meta};
        std::ranges::copy(tensor.storage->bytes(), copy.storage->bytes().begin());
        return Datum{copy};
      }
      copy_elems(tensor, copy);
      return Datum{copy};
    }));
  return copies;
}

/// Law 2 does not hold for rows that address the storage under their argument, which is what they
/// do, and for one that takes over the strides of an argument even where its elements overlap.
constexpr std::string_view kAddressesStorage[] = {
    "aten.as_strided.default", "aten.as_strided_copy.default", "aten.as_strided_scatter.default",
    "aten._weight_norm_interface.default"};
/// Rows that write arguments which PyTorch's schema does not mark: the running statistics.
constexpr std::string_view kWritesUndeclared[] = {"aten.native_batch_norm.default",
                                                  "aten.batch_norm.default"};

auto is_in(std::span<const std::string_view> names, const OpRow& row) -> bool {
  return std::ranges::find(names, row.name()) != names.end();
}

class Rows : public ::testing::Test {
 protected:
  void check_call(const OpRow& row, const DatumList& args) {
    const auto in_place = copy_arguments(args, false);
    const auto result = RealDomain(table_).run(row, in_place);
    if (!result) return;
    ++accepted_;
    covered_.insert(row.name());
    check_symbolic(row, in_place, args, *result);
    if (!is_in(kWritesUndeclared, row)) check_untouched(row, args, in_place);
    if (!row.random && !row.schema.is_mutating() && !is_in(kAddressesStorage, row))
      check_values(row, args, *result);
  }

  void check_symbolic(const OpRow& row, const DatumList& ran, const DatumList& before,
                      const Datum& result) {
    SymbolicTwin twin;
    DatumList fakes;
    for (const auto& arg : ran) fakes.push_back(twin.fake(arg));
    const auto symbolic = twin.run(table_, row, std::move(fakes));
    if (twin.needed_data()) return;  // sizes that only the data tell
    ASSERT_TRUE(symbolic) << row.name() << " " << describe(before) << ": "
                          << symbolic.error().message;
    EXPECT_EQ(twin.describe(*symbolic), twin.describe_real(result))
        << row.name() << " " << describe(before);
  }

  void check_values(const OpRow& row, const DatumList& args, const Datum& result) {
    const auto plain = RealDomain(table_).run(row, copy_arguments(args, true));
    if (!plain) return;  // a view that needs the original strides
    std::vector<Tensor> a;
    std::vector<Tensor> b;
    collect(result, a);
    collect(*plain, b);
    ASSERT_EQ(a.size(), b.size()) << row.name();
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(same_values(a[i], b[i]))
          << row.name() << " result " << i << " depends on the layout: " << describe(args);
  }

  void check_untouched(const OpRow& row, const DatumList& before, const DatumList& after) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (row.schema.params[i].written) continue;
      std::vector<Tensor> a;
      std::vector<Tensor> b;
      collect(before[i], a);
      collect(after[i], b);
      for (std::size_t k = 0; k < a.size(); ++k)
        EXPECT_TRUE(std::ranges::equal(a[k].storage->bytes(), b[k].storage->bytes()))
            << row.name() << " wrote argument " << i;
    }
  }

  static auto describe(const DatumList& args) -> std::string {
    std::string text;
    for (const auto& arg : args) {
      text += text.empty() ? "(" : ", ";
      if (!arg.list()) {
        text += to_string(arg);
        continue;
      }
      text += "[";
      for (const auto& item : *arg.list()) text += to_string(item) + " ";
      text += "]";
    }
    return text + ")";
  }

  OpTable table_ = build_op_table();
  std::set<std::string> covered_;
  int accepted_ = 0;
};

TEST_F(Rows, RulesAgreeAndValuesDoNotDependOnLayout) {
  const auto* text = std::getenv("ASSAY_SEED");
  const auto seed = text ? std::strtoull(text, nullptr, 10) : 20251206;
  std::cout << "seed " << seed << "\n";
  const char* only = std::getenv("ASSAY_ROW");         // one row by name
  const bool trace = std::getenv("ASSAY_TRACE_ROWS");  // name each row before it runs
  constexpr int kCallsPerRow = 60;
  constexpr int kTriesPerRow = 2000;
  std::vector<std::string> uncovered;
  for (const auto& row : table_.rows()) {
    if (only && row->name() != only) continue;
    if (trace) std::cerr << row->name() << std::endl;
    Random random(seed ^ std::hash<std::string>{}(row->name()));
    const int goal = accepted_ + kCallsPerRow;
    for (int i = 0; i < kTriesPerRow && accepted_ < goal; ++i) {
      const auto base = random_sizes(random);
      const auto dtype = chance(random, 6)    ? DType::int64
                         : chance(random, 8)  ? DType::boolean
                         : chance(random, 10) ? DType::complex64
                                              : DType::float32;
      DatumList args;
      for (const auto& param : row->schema.params)
        args.push_back(random_argument(random, param, base, dtype));
      auto bound = bind_arguments(row->schema, std::move(args), {});
      if (bound) check_call(*row, *bound);
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (!covered_.contains(row->name())) uncovered.push_back(row->name());
  }
  std::cout << accepted_ << " calls of " << covered_.size() << " of " << table_.rows().size()
            << " rows\n";
  for (const auto& name : uncovered) std::cout << "  no random call was accepted: " << name << "\n";
  if (only) return;
  EXPECT_GE(covered_.size() * 100, table_.rows().size() * 80);
}

}  // namespace
}  // namespace assay
