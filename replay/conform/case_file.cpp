// The only file that knows the SQLite schema and the JSON of recorded calls.
#include "replay/conform/case_file.h"

#include <algorithm>
#include <limits>
#include <span>

#include <sqlite3.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

/// Results larger than this are taken for damage.
constexpr std::int64_t kMostResizedElems = std::int64_t{1} << 24;

using Json = nlohmann::json;
constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 30;

/// Closes what sqlite opened.
struct SqliteClose {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, SqliteClose>;
using Statement = std::unique_ptr<sqlite3_stmt, SqliteClose>;

auto name_of(const CaseSource& source) -> std::string {
  return source.bytes ? "recorded calls" : source.path.string();
}

auto open_database(const CaseSource& source) -> Result<Database> {
  sqlite3* raw = nullptr;
  const auto path = source.bytes ? std::string(":memory:") : source.path.string();
  const int flags = source.bytes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  int status = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw);
  if (status == SQLITE_OK && source.bytes) {
    // SQLite takes the bytes as writable, and does not write to what is read-only.
    auto* bytes =
        reinterpret_cast<unsigned char*>(const_cast<char*>(source.bytes->data()));  // NOLINT
    const auto size = static_cast<sqlite3_int64>(source.bytes->size());
    status = sqlite3_deserialize(raw, "main", bytes, size, size, SQLITE_DESERIALIZE_READONLY);
  }
  if (status != SQLITE_OK) return bad_input("{}: cannot be opened as a case file", name_of(source));
  return db;
}

auto prepare(sqlite3* db, const char* sql) -> Result<Statement> {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &raw, nullptr) != SQLITE_OK)
    return bad_input("not a case file: {}", sqlite3_errmsg(db));
  return Statement(raw);
}

auto memory_format_named(std::string_view name) -> MemoryFormat {
  return name.ends_with("channels_last_3d")  ? MemoryFormat::channels_last_3d
         : name.ends_with("channels_last")   ? MemoryFormat::channels_last
         : name.ends_with("preserve_format") ? MemoryFormat::preserve
                                             : MemoryFormat::contiguous;
}

auto column_text(sqlite3_stmt* statement, int column) -> std::string {
  const auto* text = sqlite3_column_text(statement, column);
  return text ? reinterpret_cast<const char*>(text) : std::string();
}

auto inflate_bytes(const void* data, std::size_t size, std::size_t expected)
    -> Result<std::string> {
  std::string out(expected ? expected : size * 8 + 1024, '\0');
  while (true) {
    auto out_size = static_cast<uLongf>(out.size());
    const int status = uncompress(reinterpret_cast<Bytef*>(out.data()), &out_size,
                                  static_cast<const Bytef*>(data), static_cast<uLong>(size));
    if (status == Z_OK) {
      out.resize(out_size);
      return out;
    }
    if (status != Z_BUF_ERROR || expected || out.size() > kMaxRecordBytes)
      return bad_input("compressed data is damaged");
    out.resize(out.size() * 2);
  }
}

auto json_ints(const Json& list) -> Ints {
  Ints values;
  for (const auto& item : list) values.push_back(item.get<std::int64_t>());
  return values;
}

auto json_real(const Json& value) -> double {
  if (value.is_number()) return value.get<double>();
  const auto text = value.is_object() ? value.at("f").get<std::string>() : value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

/// Turns the JSON of one call into an OperatorCase.
class CaseReader {
 public:
  CaseReader(OperatorCase& record, sqlite3_stmt* blob, Device device)
      : record_(record), blob_(blob), device_(std::move(device)) {}

  auto read(const Json& json) -> Result<void> {
    record_.schema = json.value("schema", "");
    record_.seeded = json.value("seeded", false);
    ASSAY_TRY_VOID(read_storages(json));
    ASSAY_TRY_VOID(read_tensors(json));
    for (const auto& arg : json.at("args")) {
      ASSAY_TRY(auto datum, read_datum(arg, false));
      record_.args.push_back(std::move(datum));
    }
    for (const auto& [key, value] : json.at("kwargs").items()) {
      ASSAY_TRY(auto datum, read_datum(value, false));
      record_.kwargs.emplace_back(key, std::move(datum));
    }
    for (const auto& out : json.at("outs")) {
      ASSAY_TRY(auto datum, read_datum(out, true));
      record_.results.push_back(std::move(datum));
    }
    return read_fake(json);
  }

 private:
  auto read_blob(const std::string& hash) -> Result<std::string> {
    sqlite3_reset(blob_);
    sqlite3_bind_text(blob_, 1, hash.c_str(), -1, SQLITE_TRANSIENT);
    if (sqlite3_step(blob_) != SQLITE_ROW) return bad_input("blob {} is missing", hash);
    const auto expected = static_cast<std::size_t>(sqlite3_column_int64(blob_, 0));
    if (expected > kMaxRecordBytes) return bad_input("blob {} is too large", hash);
    if (expected == 0) return std::string();
    return inflate_bytes(sqlite3_column_blob(blob_, 1),
                         static_cast<std::size_t>(sqlite3_column_bytes(blob_, 1)), expected);
  }

  /// With what the blob holds, which may be more than `size_bytes`: after a call that let it grow.
  auto make_storage(std::int64_t size_bytes, const Json& hash) -> Result<std::shared_ptr<Storage>> {
    if (size_bytes < 0 || static_cast<std::size_t>(size_bytes) > kMaxRecordBytes)
      return bad_input("a storage of {} bytes", size_bytes);
    auto storage = std::make_shared<Storage>(size_bytes);
    if (hash.is_null()) return storage;
    ASSAY_TRY(const auto bytes, read_blob(hash.get<std::string>()));
    if (const auto held = static_cast<std::int64_t>(bytes.size()); held > size_bytes)
      storage->grow(held);
    std::ranges::copy(std::as_bytes(std::span(bytes)), storage->bytes().begin());
    return storage;
  }

  auto read_storages(const Json& json) -> Result<void> {
    const auto& mutated = json.at("mutated");
    record_.records_mutation = !mutated.empty();
    std::size_t index = 0;
    for (const auto& item : json.at("storages")) {
      const auto size = item.at("nbytes").get<std::int64_t>();
      const auto& data = item.at("data");
      const auto change = mutated.find(std::to_string(index++));
      const auto& final_data = change == mutated.end() ? data : *change;
      ASSAY_TRY(auto before, make_storage(size, data));
      ASSAY_TRY(auto after, make_storage(size, final_data));
      record_.before.push_back(std::move(before));
      record_.after.push_back(std::move(after));
      record_.is_recorded.push_back(!final_data.is_null() || size == 0);
    }
    record_.is_input.assign(record_.before.size(), false);
    return {};
  }

  auto read_tensors(const Json& json) -> Result<void> {
    const auto inputs = json.at("inputs").get<std::size_t>();
    for (const auto& item : json.at("tensors")) {
      const auto name = item.at("dtype").get<std::string>();
      const auto dtype = dtype_from_name(name);
      if (!dtype) return unsupported("dtype {}", name);
      const auto storage = item.at("storage").get<std::size_t>();
      if (storage >= record_.before.size()) return bad_input("storage {} is missing", storage);
      if (metas_.size() < inputs) record_.is_input[storage] = true;
      RealMeta meta{*dtype,
                    json_ints(item.at("size")),
                    json_ints(item.at("stride")),
                    item.at("offset").get<std::int64_t>(),
                    record_.before[storage]->size_bytes(),
                    device_};
      if (item.value("conj", false)) meta.lazy = meta.lazy ^ Lazy::conjugated;
      if (item.value("neg", false)) meta.lazy = meta.lazy ^ Lazy::negated;
      ASSAY_TRY(const auto elems, required_elems(meta.sizes, meta.strides, meta.offset));
      const bool is_input = metas_.size() < inputs;
      const auto& held = is_input ? record_.before[storage] : record_.after[storage];
      if (record_.is_recorded[storage] && elems > held->size_bytes() / size_bytes(*dtype)) {
        if (is_input || elems > kMostResizedElems)
          return bad_input("tensor {} runs past its storage", metas_.size());
        // The call resized its argument; the content after it was cut at the old size.
        record_.is_recorded[storage] = false;
        record_.after[storage] = std::make_shared<Storage>(elems * size_bytes(*dtype));
      }
      metas_.emplace_back(storage, meta);
    }
    return {};
  }

  auto read_object(const Json& json, bool is_result) -> Result<Datum> {
    if (json.contains("t")) {
      const auto index = json.at("t").get<std::size_t>();
      if (index >= metas_.size()) return bad_input("tensor {} is missing", index);
      const auto& [storage, meta] = metas_[index];
      return Datum{Tensor{(is_result ? record_.after : record_.before)[storage], meta}};
    }
    if (json.contains("f")) return Datum{Expr::real(json_real(json))};
    if (json.contains("c"))
      return Datum{Complex(json_real(json.at("c").at(0)), json_real(json.at("c").at(1)))};
    if (json.contains("dtype")) {
      const auto dtype = dtype_from_name(json.at("dtype").get<std::string>());
      if (!dtype) return unsupported("dtype {}", json.at("dtype").dump());
      return Datum{*dtype};
    }
    if (json.contains("device")) {
      auto device = device_from_string(json.at("device").get<std::string>());
      if (!device) return bad_input("device {}", json.at("device").dump());
      return Datum{*device};
    }
    if (json.contains("layout"))
      return Datum{json.at("layout").get<std::string>().ends_with("strided") ? Layout::strided
                                                                             : Layout::other};
    if (json.contains("memory_format"))
      return Datum{memory_format_named(json.at("memory_format").get<std::string>())};
    return unsupported("argument {}", json.dump());
  }

  auto read_datum(const Json& json, bool is_result) -> Result<Datum> {
    if (json.is_null()) return Datum{};
    if (json.is_boolean()) return Datum{Expr::boolean(json.get<bool>())};
    if (json.is_number_integer()) return Datum{Expr(json.get<std::int64_t>())};
    if (json.is_number()) return Datum{Expr::real(json.get<double>())};
    if (json.is_string()) return Datum{json.get<std::string>()};
    if (json.is_object()) return read_object(json, is_result);
    DatumList items;
    for (const auto& item : json) {
      ASSAY_TRY(auto datum, read_datum(item, is_result));
      items.push_back(std::move(datum));
    }
    return Datum{std::move(items)};
  }

  auto read_fake(const Json& json) -> Result<void> {
    const auto fake = json.find("fake");
    if (fake == json.end() || !fake->is_array()) return {};
    for (const auto& item : *fake) {
      if (!item.is_array() || item.size() != 4 || !item[0].is_array()) {
        record_.fake.emplace_back();
        continue;
      }
      const auto dtype = dtype_from_name(item[2].get<std::string>());
      if (!dtype) return unsupported("dtype {}", item[2].dump());
      record_.fake.emplace_back(FakePrediction{*dtype, json_ints(item[0]), json_ints(item[1]),
                                               item[3].get<std::int64_t>()});
    }
    return {};
  }

  OperatorCase& record_;
  sqlite3_stmt* blob_;
  Device device_;
  std::vector<std::pair<std::size_t, RealMeta>> metas_;
};

/// What the calls ran on; files without properties come from the CPU.
auto device_of(sqlite3* db) -> Device {
  const auto row = prepare(db, "select value from properties where name = 'device'");
  if (!row || sqlite3_step(row->get()) != SQLITE_ROW) return {};
  return device_from_string(column_text(row->get(), 0)).value_or(Device{});
}

constexpr const char* kColumns =
    "select id, overload, opinfo, variant, json, fake_differs from cases";
constexpr const char* kBlob = "select nbytes, data from blobs where hash = ?";

/// One row of kColumns.
auto read_row(sqlite3_stmt* row, sqlite3_stmt* blob, const Device& device) -> Result<OperatorCase> {
  OperatorCase record;
  record.id = sqlite3_column_int64(row, 0);
  record.overload = column_text(row, 1);
  record.opinfo = column_text(row, 2);
  record.variant = column_text(row, 3);
  record.fake_differs = column_text(row, 5);
  const auto place = fmt::format("case {}", record.id);
  auto text = inflate_bytes(sqlite3_column_blob(row, 4),
                            static_cast<std::size_t>(sqlite3_column_bytes(row, 4)), 0);
  if (!text) return with_context(text.error(), place);
  // The library reports shape errors by exceptions; they end here.
  try {
    const auto read = CaseReader(record, blob, device).read(Json::parse(*text));
    if (!read) return with_context(read.error(), place);
  } catch (const Json::exception& error) {
    return bad_input("{}: {}", place, error.what());
  }
  return record;
}

}  // namespace

auto for_each_case(const CaseSource& source, const CaseSelection& selection,
                   const std::function<void(const OperatorCase&)>& visit) -> Result<void> {
  ASSAY_TRY(const auto db, open_database(source));
  const auto sql = std::string(kColumns) + " where instr(overload, ?) > 0 order by overload, id";
  ASSAY_TRY(const auto rows, prepare(db.get(), sql.c_str()));
  ASSAY_TRY(const auto blob, prepare(db.get(), kBlob));
  sqlite3_bind_text(rows.get(), 1, selection.filter.c_str(), -1, SQLITE_TRANSIENT);
  const auto device = device_of(db.get());
  std::string overload;
  std::int64_t seen = 0;
  int status = SQLITE_OK;
  while ((status = sqlite3_step(rows.get())) == SQLITE_ROW) {
    auto name = column_text(rows.get(), 1);
    seen = name == overload ? seen + 1 : 1;
    overload = std::move(name);
    if (selection.limit > 0 && seen > selection.limit) continue;
    ASSAY_TRY(const auto record, read_row(rows.get(), blob.get(), device));
    visit(record);
  }
  if (status != SQLITE_DONE) return bad_input("{}: {}", name_of(source), sqlite3_errmsg(db.get()));
  return {};
}

auto read_case(const CaseSource& source, std::int64_t id) -> Result<OperatorCase> {
  ASSAY_TRY(const auto db, open_database(source));
  ASSAY_TRY(const auto row, prepare(db.get(), (std::string(kColumns) + " where id = ?").c_str()));
  ASSAY_TRY(const auto blob, prepare(db.get(), kBlob));
  sqlite3_bind_int64(row.get(), 1, id);
  if (sqlite3_step(row.get()) != SQLITE_ROW)
    return bad_input("{} has no case {}", name_of(source), id);
  return read_row(row.get(), blob.get(), device_of(db.get()));
}

}  // namespace assay
