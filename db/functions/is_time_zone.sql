-- payroll.is_time_zone(zone text)
--
-- Purpose   Whether a text may stand as the zone of a pay schedule: the name of an IANA region, as PostgreSQL's zone data
--           knows it and spelled in its case: Europe/Berlin, America/Argentina/Ushuaia, Etc/GMT+5, UTC.
--           AT TIME ZONE alone accepts much more: abbreviations (CET), offsets (+02), POSIX rules (EST5EDT) and inventions
--           such as Foo/Bar3. None of these follows the clock changes of a place.
-- Parameter zone: any text.
-- Returns   true or false; false for NULL.
-- Errors    none.
-- Tables    none. Not for hot paths: it sets the session's TimeZone for its own duration, because showing the setting is the
--           only quick way to learn the exact spelling of a zone (pg_timezone_names reads every zone file).
-- Called by the functions that create or edit a schedule, payroll.preview_dates.
CREATE OR REPLACE FUNCTION payroll.is_time_zone(zone text)
RETURNS boolean
LANGUAGE plpgsql
VOLATILE
SET timezone = 'UTC'
AS $function$
BEGIN
    -- No digits (but in Etc/GMT±n): a POSIX rule always has one.
    IF zone IS NULL OR zone !~ '^(UTC|Etc/GMT[+-][0-9]{1,2}|[A-Z][A-Za-z]+(/[A-Z][A-Za-z]*([_-][A-Za-z]+)*){1,2})$' THEN
        RETURN false;
    END IF;
    PERFORM set_config('timezone', zone, true);
    RETURN current_setting('timezone') = zone COLLATE "C";
EXCEPTION
    WHEN invalid_parameter_value THEN
        RETURN false;
END
$function$;
