#include "core/ops/domain.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/check.h"
#include "core/expr/text.h"
#include "core/ops/generator.h"
#include "core/ops/randomness.h"

namespace assay {
namespace {

auto call_error(const OpRow& row, const Error& error) -> std::unexpected<Error> {
  return with_context(error, row.name());
}

/// First invalid expression (overflow, division by zero) in a result's layout, if any.
auto find_invalid(const Datum& datum) -> const Expr* {
  if (const auto* scalar = datum.scalar()) return scalar->is_valid() ? nullptr : scalar;
  if (const auto* list = datum.list()) {
    for (const auto& item : *list)
      if (const auto* bad = find_invalid(item)) return bad;
    return nullptr;
  }
  const auto* fake = datum.fake();
  if (!fake) return nullptr;
  for (const auto& size : fake->meta.sizes)
    if (!size.is_valid()) return &size;
  for (const auto& stride : fake->meta.strides)
    if (!stride.is_valid()) return &stride;
  return fake->meta.offset.is_valid() ? nullptr : &fake->meta.offset;
}

auto run_rule(const OpRow& row, const DatumList& args, ShapeContext& context) -> Result<Datum> {
  MetaCall call(row, args, context);
  auto result = row.rule(call);
  if (const auto& error = call.error()) return call_error(row, *error);
  if (find_invalid(result)) return bad_input("{}: a size or stride overflows 64 bits", row.name());
  return result;
}

auto is_lazy(const Datum& datum) -> bool {
  if (const auto* fake = datum.fake()) return fake->meta.lazy != Lazy::none;
  if (const auto* tensor = datum.real()) return tensor->meta.lazy != Lazy::none;
  return datum.list() != nullptr && std::ranges::any_of(*datum.list(), is_lazy);
}
/// Of those that neither give views nor write, the rows that look at lazy arguments themselves.
constexpr std::string_view kTakeLazy[] = {"aten.clone.default", "aten._unsafe_view.default",
                                          "aten.linalg_solve_triangular.default"};
/// Operators but those that give views or write compute on clones of lazy arguments.
auto takes_lazy(const OpRow& row) -> bool {
  return std::ranges::find(kTakeLazy, row.name()) != std::end(kTakeLazy) ||
         row.schema.is_mutating() ||
         std::ranges::any_of(row.schema.returns, [](const Return& r) { return r.alias != 0; });
}
auto resolved(const Datum& datum, Domain& domain) -> Result<Datum> {
  if (!is_lazy(datum)) return datum;
  if (const auto* list = datum.list()) {
    DatumList items;
    for (const auto& item : *list) {
      ASSAY_TRY(items.emplace_back(), resolved(item, domain));
    }
    return Datum{std::move(items)};
  }
  const auto* clone = domain.find("aten.clone.default");
  ASSAY_CHECK(clone, "lazy arguments need aten.clone");
  ASSAY_TRY(auto args, bind_arguments(clone->schema, {datum}, {}));
  return domain.run(*clone, std::move(args));
}
/// A number that a view is taken of is a tensor without dimensions.
auto number_as_tensor(const Datum& number, Domain& domain) -> Result<Datum> {
  const auto* expr = number.scalar();
  const auto type = expr == nullptr ? ExprType::real : expr->type();
  const auto dtype = expr == nullptr             ? DType::complex128
                     : type == ExprType::real    ? DType::float64
                     : type == ExprType::boolean ? DType::boolean
                                                 : DType::int64;
  const auto* full = domain.find("aten.full.default");
  ASSAY_CHECK(full, "numbers as tensors need aten.full");
  ASSAY_TRY(auto args,
            bind_arguments(full->schema, {Datum{DatumList{}}, number, Datum{dtype}}, {}));
  return domain.run(*full, std::move(args));
}
/// The arguments as a leaf operator sees them.
auto resolve(const OpRow& row, DatumList& args, Domain& domain) -> Result<void> {
  for (std::size_t i = 0; i < row.schema.params.size() && i < args.size(); ++i) {
    const auto& param = row.schema.params[i];
    const bool is_viewed = param.kind == ParamKind::tensor && param.alias != 0 && !param.written;
    const bool is_number =
        args[i].scalar() != nullptr || std::holds_alternative<Complex>(args[i].value);
    if (!is_viewed || param.is_list || !is_number) continue;
    ASSAY_TRY(args[i], number_as_tensor(args[i], domain));
  }
  if (std::ranges::none_of(args, is_lazy) || takes_lazy(row)) return {};
  for (auto& arg : args) {
    ASSAY_TRY(arg, resolved(arg, domain));
  }
  return {};
}

auto run_decomposition(const OpRow& row, const DatumList& args, Domain& domain) -> Result<Datum> {
  Composer composer(row, args, domain);
  auto result = row.decomposition(composer);
  if (const auto& error = composer.error()) return call_error(row, *error);
  return result;
}

/// Bytes from the start of a storage to the end of a view.
auto bytes_up_to(const RealMeta& meta) -> std::int64_t {
  std::int64_t last = meta.offset;
  for (std::size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d] == 0) return 0;
    last += (meta.sizes[d] - 1) * std::max<std::int64_t>(meta.strides[d], 0);
  }
  return (last + 1) * size_bytes(meta.dtype);
}

/// Between the domains: which Storage stands behind which fake storage id.
class Storages {
 public:
  /// `memory` of fresh allocations; do storages grow where a view needs it?
  Storages(ShapeContext& context, Storage::Memory memory, bool may_grow = false)
      : context_(context), memory_(memory), may_grow_(may_grow) {}

  /// The datum with real tensors replaced by their layouts.
  auto to_fake(const Datum& datum) -> Datum {
    if (const auto* tensor = datum.real())
      return {FakeTensor{to_claim(tensor->meta), id_of(tensor->storage)}};
    if (const auto* list = datum.list()) {
      DatumList items;
      for (const auto& item : *list) items.push_back(to_fake(item));
      return {std::move(items)};
    }
    return datum;
  }

  /// The datum with layouts replaced by tensors: views of known storages, or fresh allocations.
  auto to_real(const Datum& datum) -> Result<Datum> {
    if (const auto* fake = datum.fake()) {
      ASSAY_TRY(auto tensor, materialise(*fake));
      return Datum{std::move(tensor)};
    }
    if (const auto* list = datum.list()) {
      DatumList items;
      for (const auto& item : *list) {
        ASSAY_TRY(auto real, to_real(item));
        items.push_back(std::move(real));
      }
      return Datum{std::move(items)};
    }
    return datum;
  }

 private:
  auto id_of(const std::shared_ptr<Storage>& storage) -> int {
    const auto [entry, is_new] = ids_.try_emplace(storage.get(), 0);
    if (is_new) {
      entry->second = context_.fresh_storage();
      storages_[entry->second] = storage;
    }
    return entry->second;
  }

  auto materialise(const FakeTensor& fake) -> Result<Tensor> {
    for (const auto& size : fake.meta.sizes)
      if (size.as_int().value_or(-1) < 0) return bad_input("negative size {}", print_expr(size));
    auto meta = assay::to_real(fake.meta, 0);
    const auto known = storages_.find(fake.storage);
    if (known == storages_.end()) {
      if (meta.offset < 0) return bad_input("negative offset {}", meta.offset);
      ASSAY_TRY(auto tensor,
                Tensor::allocate(meta.dtype, meta.sizes, meta.strides, meta.device, memory_));
      if (meta.offset > 0 && tensor.numel() > 0) {  // the functional forms of in-place copies
        const auto bytes = tensor.storage->size_bytes() + meta.offset * size_bytes(meta.dtype);
        tensor.storage = std::make_shared<Storage>(bytes, memory_);
        tensor.meta.storage_bytes = bytes;
      }
      tensor.meta.offset = meta.offset;
      storages_[fake.storage] = tensor.storage;
      return tensor;
    }
    if (const auto needed = bytes_up_to(meta);
        may_grow_ && needed > known->second->size_bytes() && needed < kMostGrown)
      known->second->grow(needed);
    Tensor base{known->second, {}};
    base.meta.device = meta.device;
    base.meta.lazy = meta.lazy;
    return base.view(meta.dtype, std::move(meta.sizes), std::move(meta.strides), meta.offset);
  }

  ShapeContext& context_;
  static constexpr std::int64_t kMostGrown = std::int64_t{1} << 32;
  Storage::Memory memory_;
  bool may_grow_;
  std::unordered_map<const Storage*, int> ids_;
  std::unordered_map<int, std::shared_ptr<Storage>> storages_;
};

/// Are all its tensors views of storages in `known`, and is there no number in it?
auto is_view_of(const Datum& datum, const std::vector<const Storage*>& known) -> bool {
  if (const auto* tensor = datum.real())
    return std::ranges::find(known, tensor->storage.get()) != known.end();
  if (const auto* list = datum.list())
    return std::ranges::all_of(*list, [&](const Datum& item) { return is_view_of(item, known); });
  return true;
}

void collect_storages(const Datum& datum, std::vector<const Storage*>& storages) {
  if (const auto* tensor = datum.real()) storages.push_back(tensor->storage.get());
  if (const auto* list = datum.list())
    for (const auto& item : *list) collect_storages(item, storages);
}

/// Numbers that a kernel would fill in, or that no rule knows.
auto has_unknown(const Datum& datum, bool has_kernel) -> bool {
  if (const auto* scalar = datum.scalar()) return has_kernel || !scalar->is_const();
  if (const auto* list = datum.list())
    return std::ranges::any_of(*list,
                               [&](const Datum& item) { return has_unknown(item, has_kernel); });
  return false;
}

/// Without sizes that only data tell.
auto has_constant_layout(const Datum& datum) -> bool {
  if (const auto* list = datum.list()) return std::ranges::all_of(*list, has_constant_layout);
  const auto* fake = datum.fake();
  if (fake == nullptr) return true;
  const auto is_const = [](const Expr& e) { return e.is_const(); };
  return std::ranges::all_of(fake->meta.sizes, is_const) &&
         std::ranges::all_of(fake->meta.strides, is_const) && fake->meta.offset.is_const();
}

/// Nothing where data decide what the row gives.
auto known_layout(const OpRow& row, const DatumList& fakes, ShapeContext& context)
    -> Result<Datum> {
  ASSAY_TRY(auto layout, run_rule(row, fakes, context));
  if (has_unknown(layout, row.kernel != nullptr) || !has_constant_layout(layout))
    return unsupported("{}: what it gives depends on data", row.name());
  return layout;
}
/// Tells of a row that has to run.
void tell(const LayoutDomain::Leaf& leaf, const OpRow& row, const DatumList& given,
          const Datum& made) {
  std::vector<const Storage*> known;
  if (!row.kernel)
    for (const auto& arg : given) collect_storages(arg, known);
  if (row.kernel || !is_view_of(made, known)) leaf(row, given, made);
}

/// Rules on layouts inside of a decomposition; rows that compute are handed on as tensors.
class LeafDomain final : public Domain {
 public:
  LeafDomain(const Domain& like, Storages& storages, ShapeContext& context,
             const LayoutDomain::Leaf& leaf)
      : like_(like), storages_(storages), context_(context), leaf_(leaf) {}
  auto run(const OpRow& row, DatumList args) -> Result<Datum> override {
    if (row.decomposition) return run_decomposition(row, args, *this);
    ASSAY_TRY_VOID(resolve(row, args, *this));
    ASSAY_TRY(auto layout, known_layout(row, args, context_));
    DatumList given;
    for (const auto& arg : args) {
      ASSAY_TRY(given.emplace_back(), storages_.to_real(arg));
    }
    ASSAY_TRY(const auto made, storages_.to_real(layout));
    tell(leaf_, row, given, made);
    return layout;
  }
  [[nodiscard]] auto find(std::string_view overload) const -> const OpRow* override {
    return like_.find(overload);
  }
  [[nodiscard]] auto overloads(std::string_view name) const
      -> std::span<const OpRow* const> override {
    return like_.overloads(name);
  }
  [[nodiscard]] auto meta(const Datum& tensor) const -> TensorMeta override {
    ASSAY_CHECK(tensor.fake(), "a fake tensor is expected, not {}", to_string(tensor));
    return tensor.fake()->meta;
  }
  [[nodiscard]] auto context() -> ShapeContext& override { return context_; }

 private:
  const Domain& like_;
  Storages& storages_;
  ShapeContext& context_;
  const LayoutDomain::Leaf& leaf_;
};

}  // namespace

auto LayoutDomain::layout(const OpRow& row, const DatumList& args) -> Result<Datum> {
  ShapeContext context(env_);
  Storages storages(context, Storage::Memory::none);
  DatumList fakes;
  fakes.reserve(args.size());
  for (const auto& arg : args) fakes.push_back(storages.to_fake(arg));
  if (!row.decomposition && std::ranges::none_of(args, is_lazy)) {  // what is given stays as it is
    ASSAY_TRY(const auto layout, known_layout(row, fakes, context));
    ASSAY_TRY(auto made, storages.to_real(layout));
    tell(leaf_, row, args, made);
    return made;
  }
  LeafDomain inner(like_, storages, context, leaf_);
  ASSAY_TRY(const auto layout, inner.run(row, std::move(fakes)));
  return storages.to_real(layout);
}

auto FakeDomain::run(const OpRow& row, DatumList args) -> Result<Datum> {
  if (row.decomposition) return run_decomposition(row, args, *this);
  ASSAY_TRY_VOID(resolve(row, args, *this));
  return run_rule(row, args, context_);
}

auto FakeDomain::meta(const Datum& tensor) const -> TensorMeta {
  ASSAY_CHECK(tensor.fake(), "a fake tensor is expected, not {}", to_string(tensor));
  return tensor.fake()->meta;
}

RealDomain::RealDomain(const OpTable& table, std::shared_ptr<RandomState> random)
    : table_(table),
      random_(random ? random : std::make_shared<RandomState>()),
      has_seed_(random != nullptr) {}

auto RealDomain::run(const OpRow& row, DatumList args) -> Result<Datum> {
  if (!observer_) return compute(row, std::move(args));
  const auto kept = args;
  ++depth_;
  auto result = compute(row, std::move(args));
  if (result) observer_(row, kept, *result, depth_);
  --depth_;
  return result;
}

auto RealDomain::compute(const OpRow& row, DatumList args) -> Result<Datum> {
  if (row.decomposition) return run_decomposition(row, args, *this);
  ASSAY_TRY_VOID(resolve(row, args, *this));
  if (row.random || is_dropping(row, args))
    drawn_ = std::max(drawn_, randomness(row, args, has_seed_));
  ShapeContext context;
  if (row.measure) {
    Datum nothing;
    KernelCall call(row, args, nothing, *random_);
    context.set_measured(row.measure(call));
    if (const auto& error = call.error()) return call_error(row, *error);
  }
  const bool only_layout = row.schema.is_mutating() && !row.kernel;
  Storages storages(context, Storage::Memory::zeros, only_layout && row.uninitialised);
  DatumList fakes;
  fakes.reserve(args.size());
  for (const auto& arg : args) fakes.push_back(storages.to_fake(arg));
  ASSAY_TRY(const auto layout, run_rule(row, fakes, context));
  auto result = storages.to_real(layout);
  // What only changes the layout of an argument may be larger than its storage: PyTorch lets it
  // grow.
  if (!result && only_layout)
    return unsupported("{}: a storage that grows ({})", row.name(), result.error().message);
  if (!result) return std::unexpected(result.error());
  if (row.kernel) {
    if (row.random) random_->begin_operator();
    KernelCall call(row, args, *result, *random_);
    row.kernel(call);
    if (const auto& error = call.error()) return call_error(row, *error);
  }
  return result;
}

auto RealDomain::meta(const Datum& tensor) const -> TensorMeta {
  ASSAY_CHECK(tensor.real(), "a real tensor is expected, not {}", to_string(tensor));
  return to_claim(tensor.real()->meta);
}

auto has_execution(const OpRow& row) -> bool {
  return row.decomposition || row.rule;
}

}  // namespace assay
