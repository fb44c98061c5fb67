#include "core/ops/datum.h"

namespace assay {

DatumValue::DatumValue() = default;
DatumValue::DatumValue(const DatumValue& other) = default;
DatumValue::DatumValue(DatumValue&& other) noexcept = default;
auto DatumValue::operator=(const DatumValue& other) -> DatumValue& = default;
auto DatumValue::operator=(DatumValue&& other) noexcept -> DatumValue& = default;
DatumValue::~DatumValue() = default;

}  // namespace assay
