// Loads and stores of all registers of a thread. Registers that are neighbours in memory travel
// together, up to 16 bytes at once. Whether that may be (the places are aligned) is asked once for
// all runs, so that all of a thread's loads are on their way before the first one is looked at;
// else elements of two bytes come with the aligned ones around them and are moved, others one by
// one. Of a run that is meant in part all is read, since memory is handed out in larger pieces than
// that, and its lanes are written one by one.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::Value;

constexpr unsigned kWordBits = 32;
constexpr int kPassesBy = 90;  ///< architectures from here on are generated with hints to caches
constexpr int kMovedSize = 2;  ///< bytes of elements that are moved to where they are wanted

/// Registers of the machine that a run travels in: words, or what is less than one.
auto word_type(llvm::IRBuilder<>& b, int bytes) -> llvm::IntegerType* {
  return b.getIntNTy(std::min(kWordBits, 8 * static_cast<unsigned>(bytes)));
}
auto words_of(llvm::IRBuilder<>& b, int bytes) -> unsigned {
  return 8 * static_cast<unsigned>(bytes) / word_type(b, bytes)->getBitWidth();
}
/// ".v4.b32", and "{$0, $1, $2, $3}" from operand `first` on.
struct AccessText {
  std::string type, operands;
};
auto access_text(unsigned words, unsigned bits, unsigned first) -> AccessText {
  AccessText text;
  if (words > 1) text.type = fmt::format(".v{}", words);
  text.type += fmt::format(".b{}", bits);
  for (unsigned i = 0; i < words; ++i)
    text.operands += fmt::format("{}${}", i > 0 ? ", " : "", first + i);
  if (words > 1) text.operands = "{" + text.operands + "}";
  return text;
}

/// Floats as they are in memory.
struct FloatRow {
  DType dtype;
  const llvm::fltSemantics& (*semantics)();
};
constexpr FloatRow kFloats[] = {{DType::float16, llvm::APFloat::IEEEhalf},
                                {DType::bfloat16, llvm::APFloat::BFloat},
                                {DType::float32, llvm::APFloat::IEEEsingle},
                                {DType::float64, llvm::APFloat::IEEEdouble}};

/// Word `at` of elements of `size` bits that all have the bits of `fill`.
auto word_of(std::uint64_t fill, unsigned size, unsigned bits, unsigned at) -> std::uint64_t {
  if (size > bits) return fill >> (at * bits % size) & 0xffffffffU;
  for (auto filled = size; filled < bits; filled *= 2) fill |= fill << filled;
  return fill;
}

/// Whether one of the neighbours is meant, where any is.
auto is_inside(llvm::IRBuilder<>& b, const GpuValues::Span& span, int number) -> Value* {
  auto* at = b.getInt32(static_cast<std::uint32_t>(number));
  return b.CreateICmpULT(b.CreateSub(at, span.from), b.CreateSub(span.to, span.from));
}

/// Whether a load of this index looks at each element of columns once.
auto is_of_columns(const TileKernel& kernel, const TileLayout& layout, AxisSet index) -> bool {
  bool is_across = false, is_down = false;
  for (std::size_t axis = 0; axis < layout.places.size(); ++axis) {
    if ((index >> axis & 1U) == 0) continue;
    const bool is_reduced = kernel.axes[axis].kind == TileAxis::Kind::reduction;
    is_across = is_across || (layout.places[axis] == TilePlace::thread_x && !is_reduced);
    is_down = is_down || (layout.places[axis] == TilePlace::thread_y && is_reduced);
  }
  return is_across && is_down;
}

auto firsts(const auto& runs, std::function<Value*(int)> place_of) -> std::vector<Value*> {
  std::vector<Value*> all;
  for (const auto& run : runs) all.push_back(place_of(run.first));
  return all;
}
auto members(const auto& runs) -> std::vector<int> {
  std::vector<int> all;
  for (const auto& run : runs)
    for (int k = 0; k < run.length; ++k) all.push_back(run.first + k);
  return all;
}

}  // namespace

auto GpuKernelEmitter::loaded_words(const Run& run, Value* place, std::uint64_t fill) -> Values {
  auto* type = word_type(b_, run.bytes);
  const auto words = words_of(b_, run.bytes);
  const auto bits = type->getBitWidth();
  Values made;
  auto* condition = run.meant.any;
  // What is read once leaves the cache of the multiprocessor to others.
  const bool passes_by = run.is_read_once && architecture_ >= kPassesBy && words > 1;
  if (condition == nullptr && !passes_by) {
    auto* wide = llvm::FixedVectorType::get(type, words);
    auto* whole = b_.CreateAlignedLoad(wide, place, llvm::Align(static_cast<unsigned>(run.bytes)));
    for (unsigned i = 0; i < words; ++i) made.push_back(b_.CreateExtractElement(whole, i));
    return made;
  }
  const auto size = 8 * static_cast<unsigned>(run.bytes / run.length);
  if (words == 1) return {guarded_load(type, place, condition, word_of(fill, size, bits, 0))};
  const auto text = access_text(words, bits, 0);
  std::string code, constraints, guard;
  Values operands{place};
  std::vector<llvm::Type*> types(words, type), given{place->getType()};
  for (unsigned i = 0; i < words; ++i) constraints += "=r,";
  constraints += "l,";
  if (condition != nullptr) {
    for (unsigned i = 0; i < words; ++i)
      code += fmt::format("mov.b{} ${}, {};\n\t", bits, i, word_of(fill, size, bits, i));
    guard = fmt::format("@${} ", words + 1);
    constraints += "b,";
    operands.push_back(condition);
    given.push_back(b_.getInt1Ty());
  }
  code += fmt::format("{}ld.global{}{} {}, [${}];", guard, passes_by ? ".L1::no_allocate" : "",
                      text.type, text.operands, words);
  auto* result = llvm::StructType::get(module_.getContext(), types);
  auto* asm_type = llvm::FunctionType::get(result, given, false);
  auto* call = b_.CreateCall(llvm::InlineAsm::get(asm_type, code, constraints + "~{memory}", true),
                             operands);
  for (unsigned i = 0; i < words; ++i) made.push_back(b_.CreateExtractValue(call, i));
  return made;
}

void GpuKernelEmitter::store_words(const Run& run, const Values& words, Value* place) {
  const auto bits = static_cast<unsigned>(words[0]->getType()->getPrimitiveSizeInBits());
  auto* condition = run.meant.all;
  const auto count = static_cast<unsigned>(words.size());
  if (count == 1) return guarded_store(words[0], place, condition);
  if (condition == nullptr) {
    Value* whole = llvm::UndefValue::get(llvm::FixedVectorType::get(words[0]->getType(), count));
    for (unsigned i = 0; i < count; ++i) whole = b_.CreateInsertElement(whole, words[i], i);
    b_.CreateAlignedStore(whole, place, llvm::Align(static_cast<unsigned>(run.bytes)));
    return;
  }
  const auto text = access_text(count, bits, 0);
  std::string constraints;
  std::vector<llvm::Type*> types(count, words[0]->getType());
  for (unsigned i = 0; i < count; ++i) constraints += "r,";
  const auto code =
      fmt::format("@${} st.global{} [${}], {};", count + 1, text.type, count, text.operands);
  types.push_back(place->getType());
  types.push_back(b_.getInt1Ty());
  auto operands = words;
  operands.push_back(place);
  operands.push_back(condition);
  auto* asm_type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
  b_.CreateCall(llvm::InlineAsm::get(asm_type, code, constraints + "l,b,~{memory}", true),
                operands);
}

auto GpuKernelEmitter::packed(const Values& lanes, int bytes) -> Values {
  Values pairs;
  for (std::size_t i = 0; i + 1 < lanes.size() && pairs.size() == i / 2; i += 2)
    if (auto* both = code_.rounded_pair(lanes[i], lanes[i + 1]); both != nullptr)
      pairs.push_back(both);
  if (2 * pairs.size() == lanes.size()) return pairs;
  const auto bits = static_cast<unsigned>(lanes[0]->getType()->getPrimitiveSizeInBits());
  auto* word = word_type(b_, bytes);
  if (bits == 8 && word->getBitWidth() > bits) {  // LLVM would take such vectors through memory
    const auto each = word->getBitWidth() / bits;
    Values words;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      auto* part = b_.CreateShl(b_.CreateZExt(lanes[i], word), i % each * bits);
      if (i % each == 0)
        words.push_back(part);
      else
        words.back() = b_.CreateOr(words.back(), part);
    }
    return words;
  }
  auto* from = llvm::FixedVectorType::get(lanes[0]->getType(), static_cast<unsigned>(lanes.size()));
  Value* whole = llvm::UndefValue::get(from);
  for (std::size_t i = 0; i < lanes.size(); ++i)
    whole = b_.CreateInsertElement(whole, lanes[i], static_cast<std::uint64_t>(i));
  const auto count = words_of(b_, bytes);
  whole = b_.CreateBitCast(whole, llvm::FixedVectorType::get(word_type(b_, bytes), count));
  Values words;
  for (unsigned i = 0; i < count; ++i) words.push_back(b_.CreateExtractElement(whole, i));
  return words;
}

auto GpuKernelEmitter::unpacked(const Values& words, llvm::Type* type, int count) -> Values {
  Values lanes;
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  const auto word_bits = static_cast<unsigned>(words[0]->getType()->getPrimitiveSizeInBits());
  if (bits < word_bits) {
    const auto each = static_cast<int>(word_bits / bits);
    for (int i = 0; i < count; ++i) {
      auto* part = b_.CreateLShr(words[static_cast<std::size_t>(i / each)],
                                 static_cast<unsigned>(i % each) * bits);
      lanes.push_back(b_.CreateBitCast(b_.CreateTrunc(part, b_.getIntNTy(bits)), type));
    }
    return lanes;
  }
  auto* from = llvm::FixedVectorType::get(words[0]->getType(), static_cast<unsigned>(words.size()));
  Value* whole = llvm::UndefValue::get(from);
  for (std::size_t i = 0; i < words.size(); ++i)
    whole = b_.CreateInsertElement(whole, words[i], static_cast<std::uint64_t>(i));
  whole = b_.CreateBitCast(whole, llvm::FixedVectorType::get(type, static_cast<unsigned>(count)));
  for (int i = 0; i < count; ++i)
    lanes.push_back(b_.CreateExtractElement(whole, static_cast<std::uint64_t>(i)));
  return lanes;
}

/// Words of runs, with the bits of `fill` in lanes that are not meant where others are. Asked once,
/// behind all loads: a question behind each of them is a wait for it.
auto GpuKernelEmitter::filled(const Runs& runs, const Values& words, TileId mask_id,
                              llvm::Type* type, std::uint64_t fill) -> Values {
  auto* has_part = have_parts(runs);
  if (has_part == nullptr) return words;
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  auto* none = b_.CreateBitCast(b_.getIntN(bits, fill), type);
  const auto masked = [&] {
    Values made;
    auto next = words.begin();
    for (const auto& run : runs) {
      const Values of_run(next, next + words_of(b_, run.bytes));
      next += words_of(b_, run.bytes);
      auto lanes = unpacked(of_run, type, run.length);
      const auto within =
          run.meant.is_span ? span(mask_id, run.first, run.length) : std::optional<Span>();
      for (int i = 0; i < run.length && !run.meant.is_whole; ++i) {
        auto& one = lanes[static_cast<std::size_t>(i)];
        auto* is_meant = within ? is_inside(b_, *within, i) : lane(mask_id, run.first + i);
        one = b_.CreateSelect(is_meant, one, none);
      }
      std::ranges::copy(packed(lanes, run.bytes), std::back_inserter(made));
    }
    return made;
  };
  return either(has_part, masked, [&] { return words; });
}

/// Of the aligned sixteen bytes around a run that begins at any element of two bytes: whether the
/// first and the second ones are read; of a run that is meant in part where any of it is there.
auto GpuKernelEmitter::moved_guards(const Run& run, std::optional<Span> span, Value* place)
    -> Values {
  auto* beyond = b_.CreateAnd(b_.CreatePtrToInt(place, b_.getInt32Ty()), kWidestBytes - 1);
  if (span) {
    auto* in_first = b_.CreateSub(b_.getInt32(kWidestBytes / kMovedSize), b_.CreateLShr(beyond, 1));
    auto* is_some = b_.CreateICmpSLT(span->from, span->to);
    return {b_.CreateAnd(is_some, b_.CreateICmpSLT(span->from, in_first)),
            b_.CreateAnd(is_some, b_.CreateICmpSGT(span->to, in_first))};
  }
  auto* all = run.meant.all == nullptr ? b_.getTrue() : run.meant.all;
  return {all, b_.CreateAnd(all, b_.CreateICmpNE(beyond, b_.getInt32(0)))};
}

/// The run's words, moved to where they are wanted.
auto GpuKernelEmitter::moved_words(const Run& run, Value* place, Value* reads_first,
                                   Value* reads_second, std::uint64_t fill) -> Values {
  constexpr std::uint64_t kHalf = 2, kWord = 4, kTwoWords = 8, kBytesToBits = 8;
  auto* i64 = b_.getInt64Ty();
  auto* beyond = b_.CreateAnd(b_.CreatePtrToInt(place, i64), kWidestBytes - 1);
  auto* from = b_.CreateGEP(b_.getInt8Ty(), place, b_.CreateNeg(beyond));
  auto first = run, second = run;
  first.meant.any = reads_first;
  second.meant.any = reads_second;
  auto words = loaded_words(first, from, fill);
  auto* next = b_.CreateGEP(b_.getInt8Ty(), from, b_.getInt64(kWidestBytes));
  std::ranges::copy(loaded_words(second, next, fill), std::back_inserter(words));
  auto* by = b_.CreateTrunc(beyond, b_.getInt32Ty());
  const auto is_set = [&](std::uint64_t bit) {
    return b_.CreateICmpNE(b_.CreateAnd(by, bit), b_.getInt32(0));
  };
  auto* bits = b_.CreateMul(b_.CreateAnd(by, kHalf), b_.getInt32(kBytesToBits));
  // LLVM 19 makes five instructions of its own shift of two words.
  auto* i32 = b_.getInt32Ty();
  auto* shift = llvm::InlineAsm::get(llvm::FunctionType::get(i32, {i32, i32, i32}, false),
                                     "shf.r.wrap.b32 $0, $1, $2, $3;", "=r,r,r,r", false);
  Values moved;
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    moved.push_back(b_.CreateCall(shift, {words[i], words[i + 1], bits}));
  for (const auto bytes : {kTwoWords, kWord}) {
    auto* is_far = is_set(bytes);
    for (std::size_t i = 0; i + bytes / kWord < moved.size(); ++i)
      moved[i] = b_.CreateSelect(is_far, moved[i + bytes / kWord], moved[i]);
  }
  moved.resize(words.size() / 2);
  return moved;
}

/// Lanes by register as they are in memory: aligned, or all of each run at any place, or one by
/// one.
auto GpuKernelEmitter::load_runs(const Runs& runs, const TileStatement& one, std::size_t param,
                                 const ReadSome& one_by_one, std::optional<std::uint64_t> fill)
    -> Values {
  const auto index_id = one.operands[0];
  auto* type = code_.memory_type(kernel_.params[param].dtype);
  auto* may = are_aligned(runs, index_id, param);
  const auto at = firsts(runs, places(param, index_id));
  const bool fills = fill || !layout_->is_placed();
  const auto bits = fill.value_or(0);
  const auto wide = [&](const Runs& some) {
    Values words;
    for (std::size_t i = 0; i < some.size(); ++i)
      std::ranges::copy(loaded_words(some[i], at[i], bits), std::back_inserter(words));
    return fills ? filled(some, words, one.operands[1], type, bits) : words;
  };
  const auto narrow = [&] {
    Values words;
    const auto single = one_by_one(members(runs));
    auto next = single.begin();
    for (const auto& run : runs) {
      const Values lanes(next, next + run.length);
      next += run.length;
      std::ranges::copy(packed(lanes, run.bytes), std::back_inserter(words));
    }
    return words;
  };
  const auto guards = [&](bool by_spans) {
    Values all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto some =
          by_spans ? span(one.operands[1], runs[i].first, runs[i].length) : std::nullopt;
      std::ranges::copy(moved_guards(runs[i], some, at[i]), std::back_inserter(all));
    }
    return all;
  };
  const auto moved = [&](const Values& reads) {
    Values words;
    for (std::size_t i = 0; i < runs.size(); ++i)
      std::ranges::copy(moved_words(runs[i], at[i], reads[2 * i], reads[2 * i + 1], bits),
                        std::back_inserter(words));
    return words;
  };
  const bool may_move =
      layout_->is_placed() && size_bytes(kernel_.params[param].dtype) == kMovedSize &&
      std::ranges::all_of(runs, [](const Run& run) { return run.bytes == kWidestBytes; });
  const auto otherwise = [&] {
    auto* has_part = may_move ? have_parts(runs) : nullptr;
    if (has_part == nullptr) return may_move ? moved(guards(false)) : narrow();
    const bool has_spans = std::ranges::all_of(runs, [&](const Run& run) {
      return span(one.operands[1], run.first, run.length).has_value();
    });
    if (!has_spans) return either(has_part, narrow, [&] { return moved(guards(false)); });
    const auto words =
        moved(runs[0].meant.is_span  // as all are then
                  ? guards(true)
                  : either(has_part, [&] { return guards(true); }, [&] { return guards(false); }));
    return fills ? filled(runs, words, one.operands[1], type, bits) : words;
  };
  // Where all is meant nothing has to be there first.
  auto unasked = runs;
  for (auto& run : unasked) run.meant = {};
  const auto whole = [&] { return wide(unasked); };
  const auto guarded = [&] { return either(may, [&] { return wide(runs); }, otherwise); };
  auto* all_are_meant = runs.size() > 1 && layout_->is_placed() && one.operands[1] != kNoTile
                            ? all_meant(one.operands[1], members(runs))
                            : nullptr;
  const auto loaded = is_straight_ ? whole()
                      : all_are_meant == nullptr
                          ? guarded()
                          : either(b_.CreateAnd(may, all_are_meant), whole, guarded);
  Values all(static_cast<std::size_t>(layout_->registers()));
  auto word = loaded.begin();
  for (const auto& run : runs) {
    const auto end = word + words_of(b_, run.bytes);
    const auto lanes = unpacked(Values(word, end), type, run.length);
    std::ranges::copy(lanes, all.begin() + run.first);
    word = end;
  }
  return all;
}

/// The bits of the number that a load gives where it is not meant, if it can be read as such.
auto GpuKernelEmitter::fill_of(const TileStatement& one, DType stored_as)
    -> std::optional<std::uint64_t> {
  if (one.operands[1] == kNoTile || one.operands[2] == kNoTile || is_checked_) return std::nullopt;
  if (dtype(one.results[0]) != stored_as) return std::nullopt;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(lane(one.operands[2], 0));
  if (constant != nullptr && constant->isNullValue()) return 0;
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  const auto* row = std::ranges::find(kFloats, stored_as, &FloatRow::dtype);
  if (number == nullptr || row == std::end(kFloats)) return std::nullopt;
  auto value = number->getValueAPF();
  bool loses = false;
  value.convert(row->semantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  if (loses) return std::nullopt;
  return value.bitcastToAPInt().getZExtValue();
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileLoad& what) {
  const auto id = one.results[0];
  const auto of = dtype(id);
  const auto stored_as = kernel_.params[what.param].dtype;
  auto* type = code_.memory_type(stored_as);
  const auto index_id = one.operands[0];
  const auto fill = fill_of(one, stored_as);
  const auto finish = [&](Value* raw, int i) -> Value* {
    auto* value = code_.from_memory(raw, of);
    if (one.operands[1] == kNoTile || one.operands[2] == kNoTile || fill) return value;
    return b_.CreateSelect(mask(one.operands[1], i), value, lane(one.operands[2], i));
  };
  const auto read = [&](const Registers& registers, bool are_meant) {
    auto at = places(what.param, index_id);
    Values all;
    for (const int i : registers) {
      auto* given = are_meant ? nullptr : mask(one.operands[1], i);
      auto* condition = checked(one, i, given, Access::load);
      all.push_back(guarded_load(type, at(i), condition, fill.value_or(0)));
    }
    return all;
  };
  const auto one_by_one = [&](const Registers& registers) { return read(registers, false); };
  const auto over = axes(index_id) | axes(one.operands[1]);
  const auto size = static_cast<int>(size_bytes(stored_as));
  if (!varies(axes(index_id)) || run_length(index_id, 0, size) == 1) {
    // Lanes of an index that moves otherwise; equal ones are read once.
    const auto registers = distinct(over);
    const auto all = in_groups(one.operands[1], registers, read);
    std::map<int, Value*> raw;
    for (std::size_t k = 0; k < registers.size(); ++k) raw[registers[k]] = all[k];
    const auto varying = static_cast<int>(varies(over) ? layout_->register_mask(over) : 0);
    return set(id, per_lane(axes(id), [&](int i) { return finish(raw.at(i & varying), i); }));
  }
  const auto register_mask = static_cast<int>(layout_->register_mask(over));
  std::vector<Run> runs;
  for (int i = 0; i < layout_->registers();) {
    const bool begins = (i & ~register_mask) == 0 && is_active(i);
    if (begins) {
      runs.push_back(run_from(index_id, stored_as, i, one.operands[1], nullptr));
      runs.back().is_read_once = is_of_columns(kernel_, *layout_, axes(index_id));
    }
    i += begins ? runs.back().length : 1;
  }
  const auto raw = load_runs(runs, one, what.param, one_by_one, fill);
  Values lanes;
  for (int i = 0; i < layout_->registers(); ++i)
    lanes.push_back(is_active(i) ? finish(raw[static_cast<std::size_t>(i & register_mask)], i)
                                 : nullptr);
  set(id, std::move(lanes));
}

/// `all` by register, as they are in memory.
void GpuKernelEmitter::store_lanes(const TileStatement& one, std::size_t param, Values all) {
  const auto of = kernel_.params[param].dtype;
  const auto index_id = one.operands[0];
  const auto over = axes(index_id) | axes(one.operands[1]) | axes(one.operands[2]);
  auto* acts = leader(over);
  const auto condition = [&](int i) { return takes_part(one, i, acts); };
  const auto stored = [&](int i) { return all[static_cast<std::size_t>(i)]; };
  Values written(all.size(), nullptr);  // by register: was it
  std::vector<Run> runs;
  bool is_wide = false;
  for (int i = 0; i < layout_->registers(); ++i) {
    if (!is_leading(over, i) || !is_active(i)) continue;
    runs.push_back(run_from(index_id, of, i, one.operands[2], acts));
    is_wide = is_wide || runs.back().length > 1;
    i += runs.back().length - 1;
  }
  const auto write = [&](const Registers& registers, bool are_meant) {
    auto at = places(param, index_id);
    for (const int i : registers) {
      auto* meant = checked(one, i, are_meant ? acts : condition(i), Access::store);
      guarded_store(code_.rounded_alone(stored(i)), at(i), meant);
      written[static_cast<std::size_t>(i)] = meant;
    }
    return Values();
  };
  if (!is_wide) {
    in_groups(one.operands[2], members(runs), write);
    return compare_written(one, all, written);
  }
  std::vector<Values> words;
  const auto at = firsts(runs, places(param, index_id));
  for (const auto& run : runs) {
    const auto first = all.begin() + run.first;
    words.push_back(packed(Values(first, first + run.length), run.bytes));
    const auto lanes = unpacked(words.back(), (*first)->getType(), run.length);
    std::ranges::copy(lanes, all.begin() + run.first);
  }
  if (is_straight_) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].meant = {};
      store_words(runs[i], words[i], at[i]);
    }
    return;
  }
  const auto wide = [&] {
    for (std::size_t i = 0; i < runs.size(); ++i) store_words(runs[i], words[i], at[i]);
    for (const auto& run : runs) {
      if (run.meant.is_whole) continue;
      when(is_part(run), [&] {
        for (int i = run.first; i < run.first + run.length; ++i)
          guarded_store(stored(i), address(param, lane(index_id, i), dtype(index_id)),
                        condition(i));
      });
    }
    return Values();
  };
  (void)either(are_aligned(runs, index_id, param), wide,
               [&] { return write(members(runs), false); });
}

}  // namespace assay
