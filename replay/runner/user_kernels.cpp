#include "replay/runner/user_kernels.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "compiler/interpret/interpret.h"
#include "replay/runner/stage_run.h"

namespace assay {
namespace {

auto argument(const UserKernelCall& call, const std::string& name) -> const Datum* {
  const auto found = std::ranges::find(call.arguments, name,
                                       [](const auto& one) { return std::string_view(one.first); });
  return found == call.arguments.end() ? nullptr : &found->second;
}
/// Numbers that are constants of the user's call are not given.
auto fits(const TileParam& param, const Datum* given) -> bool {
  const bool is_buffer = param.kind == TileParam::Kind::buffer;
  if (given == nullptr || given->is_none()) return !is_buffer;
  if (const auto* tensor = given->real()) return is_buffer && tensor->dtype() == param.dtype;
  const auto* number = given->scalar();
  if (number == nullptr || is_buffer) return false;
  return !param.fixed || number->as_int() == param.fixed;
}
/// Do its parameters take what the call gives, and nothing else?
auto fits(const TileKernel& kernel, const UserKernelCall& call) -> bool {
  const auto& params = kernel.params;
  return std::ranges::all_of(
             params,
             [&](const TileParam& param) { return fits(param, argument(call, param.name)); }) &&
         std::ranges::all_of(call.arguments, [&](const auto& one) {
           return std::ranges::find(params, one.first, &TileParam::name) != params.end();
         });
}
/// The elements alone, row-major.
auto dense(const Tensor& tensor) -> Result<Tensor> {
  ASSAY_TRY(auto copy, Tensor::contiguous(tensor.dtype(), tensor.sizes()));
  copy_elems(tensor, copy);
  return copy;
}
/// The same on copies, where no bit of the open arguments is as it was.
auto with_others(UserKernelCall call) -> UserKernelCall {
  DatumCopier copy;
  std::set<Storage*> open;
  for (auto& [name, value] : call.arguments) {
    value = copy(value);
    if (const auto* tensor = value.real(); tensor != nullptr && call.open.contains(name))
      open.insert(tensor->storage.get());
  }
  for (auto* storage : open)
    for (auto& byte : storage->bytes()) byte = ~byte;
  return call;
}
/// May the launch be this call? Numbers of its grid and arguments say so, where it has them.
auto may_be(const TileKernel& kernel, const HostArgs& args, const UserKernelCall& call) -> bool {
  const auto passed = kernel.passed(args.size());
  if (!passed) return false;
  const auto differs = [&](std::size_t at, const Expr& number) {
    const auto* known = std::get_if<Expr>(&args[at].value);
    return known != nullptr && known->is_const() && *known != number;
  };
  for (std::size_t i = 0; i < passed->size(); ++i) {
    const auto* given = argument(call, kernel.params[(*passed)[i]].name);
    if (given != nullptr && given->scalar() != nullptr && differs(i, *given->scalar()))
      return false;
  }
  const auto& behind = kernel.launcher_args;
  for (std::size_t i = 0; passed->size() + i < args.size() && i < call.grid.size(); ++i)
    if (behind[i] == fmt::format("_grid_{}", i) &&
        differs(passed->size() + i, Expr(call.grid.at(i))))
      return false;
  return true;
}
auto is_word(char c) -> bool {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}
/// Of `ACT=0`: the number; nothing where the text does not have it, or says something else.
auto constant_in(std::string_view text, const std::string& name) -> std::optional<std::int64_t> {
  for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    auto rest = text.substr(at + name.size());
    if ((at > 0 && is_word(text[at - 1])) || !rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    for (const auto& [word, number] : {std::pair{"True", 1}, std::pair{"False", 0}})
      if (rest.starts_with(word)) return number;
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool ends = end == rest.data() + rest.size() || *end == ',' || *end == ')';
    if (status == std::errc() && ends) return number;
  }
  return std::nullopt;
}
auto as_argument(const std::string& name) -> HostArg {
  HostView view;
  view.base = name;
  HostArg arg;
  arg.value = std::move(view);
  arg.text = name;
  return arg;
}

}  // namespace

void UserKernels::add(const HostProgram& program) {
  for (const auto& [name, source] : program.kernels) {
    if (source.kernel == nullptr || !source.kernel->is_users()) continue;
    auto known =
        std::ranges::find(kernels_, source.text, [](const Known& one) { return one.source.text; });
    if (known == kernels_.end())
      known = kernels_.insert(known, {.source = source, .env = program.env, .launches = {}});
    for (const auto& function : program.functions)
      for (const auto& op : function.ops)
        if (const auto* launch = std::get_if<HostLaunch>(&op.what);
            launch != nullptr && launch->kernel == name)
          known->launches.push_back(launch->args);
  }
}

/// Which kernels the user's line names where this call stands in it, and which of them have the
/// constants that stand there; all where it does not say.
auto UserKernels::named(const UserKernelCall& call, std::vector<const Known*> all) const
    -> std::vector<const Known*> {
  std::map<std::size_t, std::string> places;  // `swiglu[(n, )](a, b, BLOCK=256)`
  for (const auto& known : kernels_) {
    const auto text = known.source.kernel->name + "[";
    for (auto at = call.code.find(text); at != std::string::npos; at = call.code.find(text, at + 1))
      if (at == 0 || !is_word(call.code[at - 1])) places[at] = known.source.kernel->name;
  }
  if (std::ssize(places) != call.places) {
    // A loop, a line that goes on elsewhere, launches that are gone: one name is it all the same.
    std::set<std::string> names;
    for (const auto& [at, name] : places) names.insert(name);
    if (names.size() == 1)
      std::erase_if(all,
                    [&](const Known* one) { return one->source.kernel->name != *names.begin(); });
    return all;
  }
  const auto here = std::next(places.begin(), call.place);
  std::erase_if(all, [&](const Known* one) { return one->source.kernel->name != here->second; });
  const auto next = std::next(here);
  const auto end = next == places.end() ? call.code.size() : next->first;
  const auto text = std::string_view(call.code).substr(here->first, end - here->first);
  std::erase_if(all, [&](const Known* one) {
    return std::ranges::any_of(one->source.kernel->params, [&](const TileParam& param) {
      const auto given = constant_in(text, param.name);
      return given && param.fixed && *given != *param.fixed;
    });
  });
  return all;
}

auto UserKernels::find(const UserKernelCall& call) const -> Result<const Known*> {
  std::vector<const Known*> all;
  for (const auto& known : kernels_)
    if (fits(*known.source.kernel, call)) all.push_back(&known);
  if (all.size() > 1) all = named(call, std::move(all));
  if (all.size() > 1)
    std::erase_if(all, [&](const Known* one) {
      return std::ranges::none_of(one->launches, [&](const HostArgs& args) {
        return may_be(*one->source.kernel, args, call);
      });
    });
  if (all.empty()) return unsupported("no kernel of the programs takes what it is given");
  if (all.size() > 1) return unsupported("it may be any of {} kernels", all.size());
  return all.front();
}

auto UserKernels::constant(const Known& known, const UserKernelCall& call, const TileParam& param)
    -> Result<Datum> {
  if (param.fixed) return Datum{Expr(*param.fixed)};
  const auto& kernel = *known.source.kernel;
  std::optional<Expr> value;
  for (const auto& args : known.launches) {
    if (!may_be(kernel, args, call)) continue;
    const auto passed = kernel.passed(args.size());
    const auto at =
        std::ranges::find(*passed, &param, [&](std::size_t i) { return &kernel.params[i]; });
    const auto* given =
        at == passed->end()
            ? nullptr
            : std::get_if<Expr>(&args[static_cast<std::size_t>(at - passed->begin())].value);
    if (given == nullptr || !given->is_const()) continue;
    if (value && *value != *given)
      return unsupported("{} of {} is another number in each launch", param.name, kernel.name);
    value = *given;
  }
  if (!value) return unsupported("no launch of {} says what {} is", kernel.name, param.name);
  return Datum{*value};
}

auto UserKernels::launch(const UserKernelCall& call) const -> Result<bool> {
  const auto other = call.open.empty() ? UserKernelCall() : with_others(call);
  ASSAY_TRY_VOID(run(call));
  if (call.open.empty()) return false;
  ASSAY_TRY_VOID(run(other));
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const auto& [name, value] = call.arguments[i];
    const auto *mine = value.real(), *theirs = other.arguments[i].second.real();
    if (mine == nullptr) continue;
    const auto all = mine->numel() * size_bytes(mine->dtype());
    if (call.open.contains(name) && all != mine->storage->size_bytes())
      return true;  // a part of it
    ASSAY_TRY(const auto a, dense(*mine));
    ASSAY_TRY(const auto b, dense(*theirs));
    if (!std::ranges::equal(a.storage->bytes(), b.storage->bytes())) return true;
  }
  return false;
}

auto UserKernels::run(const UserKernelCall& call) const -> Result<void> {
  ASSAY_TRY(const auto* const known, find(call));
  auto source = known->source;
  auto kernel = *source.kernel;
  kernel.launcher_args.clear();  // the call has the grid
  kernel.grid.clear();
  for (const auto size : call.grid) kernel.grid.emplace_back(size);
  HostLaunch launch;
  launch.kernel = source.name;
  HostProgram program;
  program.env = known->env;
  auto& function = program.functions.emplace_back();
  function.name = "call";
  DatumList inputs;
  for (const auto& param : kernel.params) {
    if (param.kind == TileParam::Kind::block ? !param.fixed : !param.is_passed && !param.fixed)
      return unsupported("{} of {} is not known", param.name, kernel.name);
    if (param.kind == TileParam::Kind::block || !param.is_passed) continue;
    const auto* given = argument(call, param.name);
    Datum value;
    if (given != nullptr && !given->is_none()) {
      value = *given;
    } else {
      ASSAY_TRY(value, constant(*known, call, *known->source.kernel->param(param.name)));
    }
    launch.args.push_back(as_argument(param.name));
    function.inputs.push_back(param.name);
    inputs.push_back(std::move(value));
  }
  function.ops.push_back({std::move(launch), 1, call.name});
  function.ops.push_back({HostReturn{}, 1, "return ()"});
  source.kernel = std::make_shared<TileKernel>(std::move(kernel));
  program.kernels[source.name] = std::move(source);
  const Interpreter interpreter(*table_);
  ASSAY_TRY(const auto ready, interpreter.compile(program));
  ASSAY_TRY_VOID(ready->run(inputs, {}));
  return {};
}

}  // namespace assay
