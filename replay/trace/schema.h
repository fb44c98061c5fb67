// The tables of a trace as data: the SQL that makes them and the page that explains them both come
// from these rows. A new column is one row and a new member of its row struct.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// "ASSY" at offset 68 of the file, where file(1) looks.
inline constexpr std::int32_t kTraceApplicationId = 0x41535359;
/// Readers accept this version and all before it. Columns are only ever added.
inline constexpr std::int32_t kTraceVersion = 4;

enum class TraceType : std::uint8_t { integer, real, text };

struct TraceColumn {
  std::string_view table;
  std::string_view name;
  TraceType type;
  std::string_view unit;        ///< "bytes", "ms", "elements", "json" or empty
  std::string_view references;  ///< "nodes.id" or empty
  std::string_view doc;
};

struct TraceTable {
  std::string_view name;
  std::string_view doc;
  std::string_view indexes;  ///< columns of each, separated by `;`, empty if it needs none
};

[[nodiscard]] auto trace_tables() -> std::span<const TraceTable>;
/// Columns of all tables, those of one table together and in the order of the table.
[[nodiscard]] auto trace_columns() -> std::span<const TraceColumn>;
[[nodiscard]] auto trace_columns(std::string_view table) -> std::span<const TraceColumn>;

/// CREATE TABLE and CREATE INDEX statements.
[[nodiscard]] auto trace_ddl() -> std::string;
/// The schema as a Markdown page.
[[nodiscard]] auto trace_schema_page() -> std::string;

}  // namespace assay
