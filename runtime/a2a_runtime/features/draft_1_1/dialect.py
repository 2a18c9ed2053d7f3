"""Support of the draft of 1.1, and of versions that include it."""

from __future__ import annotations

from a2a_runtime.features.draft_1_1.service import GenerationService
from a2a_runtime.ports.dialect_support import DialectSupport

SUPPORT = DialectSupport(build_service=GenerationService)
