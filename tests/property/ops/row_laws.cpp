#include "tests/property/ops/row_laws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "core/expr/text.h"
#include "tests/property/ops/random_calls.h"

namespace assay::testing {
namespace {

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
/// do, for one that takes over the strides of an argument even where its elements overlap, and for
/// factors of row-major matrices, which are those of the transposed ones (so that rounding decides
/// the sign of a singular one), and for bags, which keep a map only of embeddings that are not
/// adjacent.
constexpr std::string_view kAddressesStorage[] = {"aten.as_strided.default",
                                                  "aten._reshape_alias.default",
                                                  "aten._reshape_alias_copy.default",
                                                  "aten.resize.default",
                                                  "aten.resize_as.default",
                                                  "aten.as_strided_copy.default",
                                                  "prims.as_strided.default",
                                                  "prims.as_strided_scatter.default",
                                                  "aten.as_strided_scatter.default",
                                                  "aten._weight_norm_interface.default",
                                                  "aten._linalg_det.default",
                                                  "aten.logdet.default",
                                                  "aten._linalg_slogdet.default",
                                                  "aten._linalg_solve_ex.default",
                                                  "aten.linalg_slogdet.default",
                                                  "aten.slogdet.default",
                                                  "aten._embedding_bag.default",
                                                  "aten.embedding_bag.default",
                                                  "aten._embedding_bag_forward_only.default",
                                                  "aten.embedding_bag.padding_idx"};
/// Rows that write arguments which PyTorch's schema does not mark: the running statistics.
constexpr std::string_view kWritesUndeclared[] = {
    "aten.native_batch_norm.default", "aten.batch_norm.default", "aten.instance_norm.default",
    "aten.cudnn_batch_norm.default"};

/// The row, or the one it is derived from.
auto is_in(std::span<const std::string_view> names, const OpRow& row) -> bool {
  return std::ranges::find(names, row.name()) != names.end() ||
         std::ranges::find(names, row.inplace_of) != names.end();
}

void check_symbolic(const OpTable& table, const OpRow& row, const DatumList& ran,
                    const DatumList& before, const Datum& result) {
  SymbolicTwin twin;
  DatumList fakes;
  for (const auto& arg : ran) fakes.push_back(twin.fake(arg));
  const auto symbolic = twin.run(table, row, std::move(fakes));
  if (twin.needed_data()) return;  // sizes that only the data tell
  ASSERT_TRUE(symbolic) << row.name() << " " << describe_call(before) << ": "
                        << symbolic.error().message;
  EXPECT_EQ(twin.describe(*symbolic), twin.describe_real(result))
      << row.name() << " " << describe_call(before);
}

void check_values(const OpTable& table, const OpRow& row, const DatumList& args,
                  const Datum& result) {
  const auto plain = RealDomain(table).run(row, copy_arguments(args, true));
  if (!plain) return;  // a view that needs the original strides
  const auto a = tensors_of(result);
  const auto b = tensors_of(*plain);
  ASSERT_EQ(a.size(), b.size()) << row.name();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(same_values(a[i], b[i]))
        << row.name() << " result " << i << " depends on the layout: " << describe_call(args);
}

void check_untouched(const OpRow& row, const DatumList& before, const DatumList& after) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (row.schema.params[i].written) continue;
    const auto a = tensors_of(before[i]);
    const auto b = tensors_of(after[i]);
    for (std::size_t k = 0; k < a.size(); ++k)
      EXPECT_TRUE(std::ranges::equal(a[k].storage->bytes(), b[k].storage->bytes()))
          << row.name() << " wrote argument " << i;
  }
}

}  // namespace

auto check_laws(const OpTable& table, const OpRow& row, const DatumList& args) -> bool {
  const auto own = copy_arguments(args, false);
  const auto result = RealDomain(table).run(row, own);
  if (!result) return false;
  check_symbolic(table, row, own, args, *result);
  if (!is_in(kWritesUndeclared, row)) check_untouched(row, args, own);
  if (!row.random && !row.schema.is_mutating() && !is_in(kAddressesStorage, row))
    check_values(table, row, args, *result);
  return true;
}

}  // namespace assay::testing
