<?php
// The API on PHP's built-in server, written from the specification alone. Usage:
// PETS=<folder> API_KEY=<key> php -S 127.0.0.1:<port> server.php

const STATUSES = ['available', 'pending', 'sold'];
const LARGEST_BODY = 1_000_000;

function reply(int $status, mixed $value, array $fields = []): never {
  http_response_code($status);
  // The limits do not apply here: nothing is counted.
  $fields += ['X-RateLimit-Limit' => 1000, 'X-RateLimit-Remaining' => 1000];
  $fields += ['X-RateLimit-Reset' => time() + 60, 'Content-Type' => 'application/json'];
  foreach ($fields as $name => $text) header("$name: $text");
  if ($_SERVER['REQUEST_METHOD'] !== 'HEAD') echo json_encode($value, JSON_PRETTY_PRINT);
  exit;
}

function refuse(int $status, string $code, array $fields = []): never {
  $message = ucfirst(strtr($code, '_', ' ')) . '.';
  reply($status, ['code' => $code, 'message' => $message, 'status' => $status], $fields);
}

/** All animals, with one more if given; the file is locked meanwhile. */
function pets(?callable $add = null): array {
  $file = fopen(getenv('PETS') . '/pets.json', 'c+');
  flock($file, LOCK_EX);
  $pets = json_decode(stream_get_contents($file) ?: '[]', true);
  if ($add) {
    $pets[] = $add(count($pets) + 1);
    rewind($file);
    fwrite($file, json_encode($pets));
  }
  fclose($file);
  return $pets;
}

function create(): never {
  if (isset($_SERVER['HTTP_CONTENT_ENCODING'])) refuse(415, 'no_content_encoding');
  $text = file_get_contents('php://input', length: LARGEST_BODY + 1);
  if (strlen($text) > LARGEST_BODY) refuse(413, 'too_large');
  $sent = json_decode($text, flags: JSON_BIGINT_AS_STRING);
  if (!is_object($sent)) refuse(400, 'bad_json');
  // A number beyond int64 is a string now, one in quotes was one before.
  if (!is_string($sent->name ?? null) || !is_int($sent->categoryId ?? null)) refuse(400, 'bad_animal');
  if (property_exists($sent, 'status') && !in_array($sent->status, STATUSES, true)) refuse(400, 'bad_status');
  $fields = ['name' => $sent->name, 'categoryId' => $sent->categoryId];
  if (isset($sent->status)) $fields['status'] = $sent->status;
  $pets = pets(fn (int $id) => ['id' => $id] + $fields);
  reply(201, end($pets));
}

function listed(): never {
  parse_str($_SERVER['QUERY_STRING'] ?? '', $query);
  $limit = $query['limit'] ?? '20';
  if (!is_string($limit) || !preg_match('/^[0-9]{1,3}$/D', $limit)) refuse(400, 'bad_limit');
  if ($limit < 1 || $limit > 100) refuse(400, 'bad_limit');
  $status = $query['status'] ?? null;
  if ($status !== null && !in_array($status, STATUSES, true)) refuse(400, 'bad_status');
  $found = array_filter(pets(), fn ($pet) => $status === null || ($pet['status'] ?? null) === $status);
  reply(200, array_slice(array_values($found), 0, (int) $limit));
}

$key = getenv('API_KEY');
$authorization = $_SERVER['HTTP_AUTHORIZATION'] ?? '';
if (!preg_match('/^bearer (\S+)$/Di', $authorization, $found) || !hash_equals($key, $found[1])) {
  refuse(401, 'unauthorized', ['WWW-Authenticate' => 'Bearer']);
}
$path = explode('?', preg_replace('#^http://[^/]+#', '', $_SERVER['REQUEST_URI']))[0];
$method = $_SERVER['REQUEST_METHOD'];
$isRead = $method === 'GET' || $method === 'HEAD';
if ($path === '/v1/pets' && $isRead) listed();
if ($path === '/v1/pets' && $method === 'POST') create();
if ($isRead && preg_match('#^/v1/pets/([1-9][0-9]{0,18})$#D', $path, $found)) {
  foreach (pets() as $pet) if ((string) $pet['id'] === $found[1]) reply(200, $pet);
}
refuse(404, 'not_found');
